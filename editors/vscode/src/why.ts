// "Why Nothing?": the reason in a sentence.
import * as vscode from "vscode";
import type { Server } from "./server";
import type { Status } from "./status";
import type { Suggest } from "./suggest";

export function why(server: Server, status: Status, suggest: Suggest): string {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) {
    return "dlsp: no file is open.";
  }
  const here = suggest.why(document);
  if (here) {
    return here;
  }
  if (!server.client?.isRunning() || status.state === "error" || status.state === "loading") {
    return status.message.startsWith("dlsp") ? status.message : status.sentence();
  }
  if (!vscode.workspace.getConfiguration("editor", document).get("inlineSuggest.enabled", true)) {
    return "VS Code shows no suggestions: switch its setting editor.inlineSuggest.enabled on.";
  }
  if (suggest.last?.message) {
    return `dlsp: ${suggest.last.message}.`;
  }
  return suggest.last ? "dlsp had a suggestion the last time it was asked." : "dlsp was not asked yet: type something.";
}
