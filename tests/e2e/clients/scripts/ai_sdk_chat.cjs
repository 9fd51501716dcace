// What a program does with Vercel's AI SDK and a chat: ask, stream, and let it call a function until there is an answer.
const { generateText, stepCountIs, streamText, tool, jsonSchema } = require("ai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");

(async () => {
  const provider = createOpenAICompatible({ name: "dlsp", baseURL: `${process.argv[2]}/v1`, includeUsage: true });
  const model = provider.chatModel("any");
  const { text } = await generateText({ model, prompt: "Hello?", maxRetries: 0 });
  let streamed = "";
  for await (const piece of streamText({ model, prompt: "Hello?", maxRetries: 0 }).textStream) streamed += piece;
  const asked = [];
  const weather = tool({
    description: "The weather of a city.",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
    execute: ({ city }) => {
      asked.push(city);
      return `18 C in ${city}`;
    },
  });
  const loop = { model, tools: { weather }, prompt: "Weather?", stopWhen: stepCountIs(3), maxRetries: 0 };
  const answer = (await generateText(loop)).text;
  let streamed_answer = "";
  for await (const piece of streamText(loop).textStream) streamed_answer += piece;
  console.log(JSON.stringify({ text, streamed, asked, answer, streamed_answer }));
})();
