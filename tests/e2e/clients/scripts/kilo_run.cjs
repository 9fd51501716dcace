// What a user does with Kilo Code's command: one task, given on the command line, with a model of their own.
const { spawnSync } = require("node:child_process");
const path = require("node:path");

const [address, folder] = process.argv.slice(2);
const local = {
  npm: "@ai-sdk/openai-compatible",
  name: "local",
  options: { baseURL: `${address}/v1`, apiKey: "none" },
  models: { any: { name: "any" } },
};
const settings = { provider: { local }, model: "local/any", small_model: "local/any", snapshot: false };
const home = path.join(folder, "home");
const off = ["AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "MODELS_FETCH", "PRESENCE", "SESSION_INGEST", "SHARE"];
const environment = {
  ...process.env,
  ...Object.fromEntries(off.map((each) => [`KILO_DISABLE_${each}`, "1"])),
  HOME: home,
  PWD: folder, // by which it knows its project
  XDG_CACHE_HOME: path.join(home, "cache"),
  XDG_CONFIG_HOME: path.join(home, "config"),
  XDG_DATA_HOME: path.join(home, "data"),
  XDG_STATE_HOME: path.join(home, "state"),
  HTTPS_PROXY: "http://127.0.0.1:9", // there is nothing: the test needs no network
  NO_PROXY: "127.0.0.1",
  KILO_CONFIG_CONTENT: JSON.stringify(settings),
  KILO_NO_DAEMON: "1",
  KILO_TELEMETRY_LEVEL: "off",
};
const kilo = path.join(process.env.NODE_PATH, "@kilocode/cli-linux-x64/bin/kilo");
const done = spawnSync(kilo, ["run", "What does note.txt say?"], {
  cwd: folder,
  encoding: "utf-8",
  env: environment,
  input: "",
});
process.stderr.write(done.stderr);
console.log(JSON.stringify({ answer: done.stdout.trim() }));
process.exit(done.status);
