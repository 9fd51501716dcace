// Where the server is on the machine that the files are on.
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

const WINDOWS = process.platform === "win32";
const PROGRAM = WINDOWS ? "dlsp.exe" : "dlsp";
const VENVS = [".venv", "venv"];

export const MISSING =
  'dlsp is not installed: run `pipx install "dlsp[local]"`, or say where it is in the setting dlsp.command.';

/** The `dlsp` program: the one that is set, on PATH, or in a trusted folder's virtual environment. */
export function program(): string | undefined {
  const chosen = vscode.workspace.getConfiguration("dlsp").get<string | null>("command");
  if (chosen) {
    return existsSync(chosen) ? chosen : undefined;
  }
  return [...onPath(), ...inVenvs()].find((each) => existsSync(each));
}

function onPath(): string[] {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return folders.filter((folder) => path.isAbsolute(folder)).map((folder) => path.join(folder, PROGRAM));
}

function inVenvs(): string[] {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
  return folders.flatMap((folder) =>
    VENVS.map((venv) => path.join(folder.uri.fsPath, venv, WINDOWS ? "Scripts" : "bin", PROGRAM)),
  );
}
