// What Continue does with its own adapters: complete, chat, fill gaps by four providers, ask for an edit and for an apply.
const { constructLlmApi } = require("@continuedev/openai-adapters");
const { UNIQUE_TOKEN, APPLY_UNIQUE_TOKEN } = require("@continuedev/openai-adapters/dist/apis/Inception.js");

const [, , address] = process.argv;
const api = (provider, apiBase = `${address}/v1/`) => constructLlmApi({ provider, apiBase, apiKey: "none" });
const signal = new AbortController().signal;
const joined = async (stream) => {
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? chunk.choices[0]?.text ?? "";
  return text;
};
const fim = { model: "any", prompt: "a = ", suffix: "\nc", max_tokens: 9, stream: true };
const say = (content) => ({ model: "any", messages: [{ role: "user", content }] });
const EDIT =
  "<|current_file_content|>\ncurrent_file_path: a.py\n<|code_to_edit|>\na = 1<|cursor|>\n<|/code_to_edit|>\n" +
  "<|/current_file_content|>\n\n<|edit_diff_history|>\n<|/edit_diff_history|>";
const APPLY = "<|original_code|>\na = 1\n<|/original_code|>\n\n<|update_snippet|>\na = 2\n<|/update_snippet|>";

(async () => {
  const openai = api("openai");
  const completion = { model: "any", prompt: "b = ", max_tokens: 9 };
  const told = {
    whole: (await openai.completionNonStream({ ...completion, stream: false }, signal)).choices[0].text,
    streamed: await joined(openai.completionStream({ ...completion, stream: true }, signal)),
    chat: await joined(openai.chatCompletionStream({ ...say("Hello?"), stream: true }, signal)),
    fim: {},
  };
  for (const [provider, base] of [["mistral"], ["inception"], ["deepseek", `${address}/`], ["llama.cpp"]]) {
    told.fim[provider] = await joined(api(provider, base).fimStream(fim, signal));
  }
  const mercury = api("inception");
  const edit = await mercury.chatCompletionNonStream({ ...say(EDIT + UNIQUE_TOKEN), stream: false }, signal);
  told.edit = edit.choices[0].message.content;
  told.applied = await joined(mercury.chatCompletionStream({ ...say(APPLY + APPLY_UNIQUE_TOKEN), stream: true }, signal));
  console.log(JSON.stringify(told));
})();
