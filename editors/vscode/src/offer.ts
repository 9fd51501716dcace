// A sentence for the user; where it names a command in backticks, with a button that puts it into a terminal.
import * as vscode from "vscode";
import { program } from "./find";

const COMMAND = /`((?:dlsp|pip install) [^`]+)`/;
const TERMINAL = "Put It in a Terminal";
const LOG = "Show Log";

/** The command that a sentence names. */
export function named(sentence: string): string | undefined {
  return COMMAND.exec(sentence)?.[1];
}

/** Show a warning; the user decides with a key whether its command runs. */
export async function warn(sentence: string): Promise<void> {
  const command = named(sentence);
  const chosen = await vscode.window.showWarningMessage(sentence, ...(command ? [TERMINAL] : []), LOG);
  if (chosen === LOG) {
    await vscode.commands.executeCommand("dlsp.log");
  } else if (chosen && command) {
    inTerminal(command);
  }
}

/** Type a command into a terminal without running it. */
export function inTerminal(command: string): void {
  const terminal = vscode.window.createTerminal("dlsp");
  const own = program();
  terminal.show();
  terminal.sendText(own ? command.replace(/^dlsp\b/, quoted(own)) : command, false);
}

function quoted(file: string): string {
  return /^[\w./\\:-]+$/.test(file) ? file : `"${file}"`;
}
