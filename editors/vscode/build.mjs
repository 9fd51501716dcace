// One file out of the sources and the libraries, and the licence beside it.
import { copyFileSync } from "node:fs";
import { build } from "esbuild";

await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
copyFileSync("../../LICENSE", "LICENSE");
