// What a program does with Vercel's AI SDK and its provider for OpenAI's interface.
const { generateText, streamText } = require("ai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");

(async () => {
  const provider = createOpenAICompatible({ name: "dlsp", baseURL: `${process.argv[2]}/v1` });
  const model = provider.completionModel("any");
  const { text } = await generateText({ model, prompt: "a = ", maxRetries: 0 });
  let streamed = "";
  for await (const piece of streamText({ model, prompt: "b = ", maxRetries: 0 }).textStream) streamed += piece;
  console.log(JSON.stringify({ text, streamed }));
})();
