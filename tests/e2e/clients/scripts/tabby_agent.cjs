// What an editor's plugin does with Tabby's agent, by the agent's protocol of JSON lines.
const { spawn } = require("node:child_process");
const path = require("node:path");
const readline = require("node:readline");

const agent = spawn(process.execPath, [path.join(process.env.NODE_PATH, "tabby-agent/dist/cli.js")], {
  stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, HOME: process.argv[3] },
});
const waiting = new Map();
readline.createInterface({ input: agent.stdout }).on("line", (line) => {
  const [id, answer] = JSON.parse(line);
  if (id && waiting.has(id)) waiting.get(id)(answer);
});
let last = 0;
const ask = (func, ...args) =>
  new Promise((resolve) => {
    waiting.set(++last, resolve);
    agent.stdin.write(`${JSON.stringify([last, { func, args }])}\n`);
  });

(async () => {
  const config = { server: { endpoint: process.argv[2] }, anonymousUsageTracking: { disable: true } };
  const ready = await ask("initialize", { config, clientProperties: { user: {}, session: {} } });
  const text = "def add(a, b):\n    return \n";
  const completion = await ask(
    "provideCompletions",
    { filepath: "calc.py", language: "python", text, position: text.length - 1, manually: true },
    { signal: true },
  );
  console.log(JSON.stringify({ ready, texts: completion.choices.map((each) => each.text) }));
  agent.kill();
})();
