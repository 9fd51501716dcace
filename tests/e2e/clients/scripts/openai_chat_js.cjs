// What a program does with npm's `openai` and a chat: ask, stream, call a function, streamed too.
const OpenAI = require("openai");

const hello = { model: "any", messages: [{ role: "user", content: "Hello?" }] };
const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ type: "function", function: { name: "weather", parameters } }];
const ask = { model: "any", messages: [{ role: "user", content: "Weather?" }], tools };

(async () => {
  const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "none", maxRetries: 0 });
  const text = (await client.chat.completions.create(hello)).choices[0].message.content;
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ ...hello, stream: true })) {
    streamed += chunk.choices[0].delta.content ?? "";
  }
  const { message, finish_reason } = (await client.chat.completions.create(ask)).choices[0];
  const [call] = message.tool_calls;
  const gathered = await client.chat.completions.stream(ask).finalChatCompletion();
  const [other] = gathered.choices[0].message.tool_calls;
  const told = (each) => [each.function.name, JSON.parse(each.function.arguments)];
  console.log(JSON.stringify({ text, streamed, finish_reason, call: told(call), streamed_call: told(other) }));
})();
