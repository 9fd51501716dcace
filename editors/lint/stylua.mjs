// Checks that Lua files are formatted by StyLua, whose npm package is a library without a command line of its own.
// `node stylua.mjs FOLDER` reads the folder's .stylua.toml, names the files that are not formatted and exits with 1;
// with `--write` it formats them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { Config, formatCode, IndentType, LuaVersion, OutputVerification } from "@johnnymorganz/stylua";

const ENUMS = { syntax: LuaVersion, indent_type: IndentType };
const write = process.argv.includes("--write");
const folder = process.argv[2];
const settings = readFileSync(path.join(folder, ".stylua.toml"), "utf8").matchAll(/^(\w+) = "?(\w+)"?$/gm);
const options = [...settings].map(([, name, value]) => [name, ENUMS[name]?.[value] ?? Number(value)]);

for (const name of readdirSync(folder, { recursive: true }).filter((each) => each.endsWith(".lua"))) {
  const file = path.join(folder, name);
  const text = readFileSync(file, "utf8");
  // The library takes its configuration over and frees it.
  const config = Object.assign(Config.new(), Object.fromEntries(options));
  const formatted = formatCode(text, config, undefined, OutputVerification.None);
  if (formatted === text) {
    continue;
  }
  if (write) {
    writeFileSync(file, formatted);
  } else {
    console.error(`${file} is not formatted: run \`make format-editors\`.`);
    process.exitCode = 1;
  }
}
