// What a program does with npm's `openai`: complete, stream, list models.
const OpenAI = require("openai");

(async () => {
  const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "none", maxRetries: 0 });
  const whole = await client.completions.create({ model: "any", prompt: "a = ", suffix: "\n", max_tokens: 9 });
  let streamed = "";
  for await (const chunk of await client.completions.create({ model: "any", prompt: "b = ", stream: true })) {
    streamed += chunk.choices[0].text;
  }
  const models = (await client.models.list()).data.map((each) => each.id);
  console.log(JSON.stringify({ text: whole.choices[0].text, streamed, models }));
})();
