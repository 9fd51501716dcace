// A sentence for the user, with buttons for what it asks to be done.
import * as vscode from "vscode";
import { program } from "./find";

const COMMAND = /`((?:dlsp|pip|pipx|uv|\S*python\S*) [^`]+)`/; // not the name of a setting
const PULL = /^dlsp model pull\b/;
const DOWNLOAD = "Download the Model";
const TERMINAL = "Put It in a Terminal";
const LOG = "Show Log";
const HOW = "How to Install";

/** The command that a sentence names. */
export function named(sentence: string): string | undefined {
  return COMMAND.exec(sentence)?.[1];
}

/** What is to be done about a command that a sentence names. */
export function remedy(command: string): { label: string; icon: string; run: () => unknown } {
  return PULL.test(command)
    ? { label: DOWNLOAD, icon: "cloud-download", run: () => vscode.commands.executeCommand("dlsp.downloadModel") }
    : { label: TERMINAL, icon: "terminal", run: () => inTerminal(command) };
}

/** Show a warning. The model is downloaded by a button; other commands are run by the user's own key. */
export async function warn(sentence: string): Promise<void> {
  const command = named(sentence);
  const mend = command === undefined ? undefined : remedy(command);
  const chosen = await vscode.window.showWarningMessage(sentence, ...(mend ? [mend.label] : []), LOG);
  if (chosen === LOG) {
    await vscode.commands.executeCommand("dlsp.log");
  } else if (chosen !== undefined) {
    await mend?.run();
  }
}

/** Say that the server is missing. How to install it depends on the machine, so no command is put anywhere. */
export async function install(sentence: string): Promise<void> {
  if ((await vscode.window.showWarningMessage(sentence, HOW)) === HOW) {
    await vscode.commands.executeCommand("dlsp.walkthrough");
  }
}

/** Type a command into a terminal without running it. */
function inTerminal(command: string): void {
  const terminal = vscode.window.createTerminal("dlsp");
  const own = program();
  terminal.show();
  terminal.sendText(own ? command.replace(/^dlsp\b/, quoted(own)) : command, false);
}

function quoted(file: string): string {
  return /^[\w./\\:-]+$/.test(file) ? file : `"${file}"`;
}
