// Downloads the model by `dlsp model pull`, with its progress in a notification.
import { spawn } from "node:child_process";
import * as vscode from "vscode";
import { MISSING, program } from "./find";
import type { Server } from "./server";

const DONE = /: ([\d,]+) of ([\d,]+) MB$/;

/** Resolves when it is here, was cancelled or has failed, which is said. A download that was cancelled goes on the next
 * time where it ended. */
export async function download(server: Server, output: vscode.LogOutputChannel): Promise<void> {
  const own = program();
  if (!own) {
    return void vscode.window.showWarningMessage(MISSING);
  }
  const options = { location: vscode.ProgressLocation.Notification, title: "dlsp: the model", cancellable: true };
  const failed = await vscode.window.withProgress(options, (progress, token) => pull(own, output, progress, token));
  if (failed) {
    return void vscode.window.showErrorMessage(`dlsp: ${failed}`);
  }
  await server.restart(); // at once, not when the server next tries by itself
}

/** Why it failed, in a sentence, undefined if it did not. */
function pull(
  own: string,
  output: vscode.LogOutputChannel,
  progress: vscode.Progress<{ message: string; increment?: number }>,
  token: vscode.CancellationToken,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    let [last, percent] = ["", 0];
    const child = spawn(own, ["model", "pull"], { stdio: ["ignore", "pipe", "pipe"] });
    const read = (data: Buffer) => {
      for (const line of data
        .toString()
        .split(/\r?\n/)
        .filter((each) => each.trim())) {
        last = line.trim();
        output.info(last);
        const [, done, all] = DONE.exec(last) ?? [];
        const now = done && all ? (100 * number(done)) / number(all) : percent;
        progress.report({ message: last, increment: Math.max(0, now - percent) });
        percent = now;
      }
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", (error) => resolve(`the model could not be downloaded: ${error.message}`));
    child.on("close", (status) => resolve(status === 0 ? undefined : last.replace(/^dlsp: /, "")));
    token.onCancellationRequested(() => child.kill("SIGINT"));
  });
}

function number(text: string): number {
  return Number(text.replaceAll(",", ""));
}
