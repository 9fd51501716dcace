// What a program does with npm's `@mistralai/mistralai`: fill in the middle, whole and streamed, and chat.
const { Mistral } = require("@mistralai/mistralai");

(async () => {
  const client = new Mistral({ serverURL: process.argv[2], apiKey: "none" });
  const gap = { model: "codestral-latest", prompt: "a = ", suffix: "\n", maxTokens: 9 };
  const whole = await client.fim.complete(gap);
  let streamed = "";
  for await (const event of await client.fim.stream({ ...gap, prompt: "b = " })) {
    streamed += event.data.choices[0].delta.content;
  }
  const chat = await client.chat.complete({ model: "any", messages: [{ role: "user", content: "Hello?" }] });
  const told = { text: whole.choices[0].message.content, streamed, chat: chat.choices[0].message.content };
  console.log(JSON.stringify(told));
})();
