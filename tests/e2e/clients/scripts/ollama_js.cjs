// What a program does with npm's `ollama`: generate, whole and streamed, chat, list and show.
const { Ollama } = require("ollama");

(async () => {
  const client = new Ollama({ host: process.argv[2] });
  const whole = await client.generate({ model: "any", prompt: "a = ", suffix: "\n", options: { num_predict: 9 } });
  let streamed = "";
  for await (const part of await client.generate({ model: "any", prompt: "b = ", raw: true, stream: true })) {
    streamed += part.response;
  }
  const chat = await client.chat({ model: "any", messages: [{ role: "user", content: "Hello?" }] });
  const model = (await client.list()).models[0].name;
  const { capabilities } = await client.show({ model });
  const told = { text: whole.response, reason: whole.done_reason, streamed, chat: chat.message.content, model };
  console.log(JSON.stringify({ ...told, capabilities }));
})();
