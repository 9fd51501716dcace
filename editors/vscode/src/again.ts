// What was typed while nobody could answer is answered once somebody can.
import * as vscode from "vscode";
import type { Status } from "./status";

/** Have VS Code ask again when the engine is ready, if the cursor is still where the last edit left it. */
export function askAgain(status: Status): vscode.Disposable {
  let edited: { document: vscode.TextDocument; version: number } | undefined;
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      const active = document === vscode.window.activeTextEditor?.document;
      const nobody = status.state === "loading" || status.state === "stopped";
      edited = active && nobody ? { document, version: document.version } : undefined;
    }),
    vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
      if (
        kind === vscode.TextEditorSelectionChangeKind.Mouse ||
        kind === vscode.TextEditorSelectionChangeKind.Command
      ) {
        edited = undefined;
      }
    }),
    status.changed(({ before, state }) => {
      const document = vscode.window.activeTextEditor?.document;
      if (before === "loading" && state === "ready" && edited?.document === document && edited) {
        if (edited.version === document?.version) {
          void vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
        }
        edited = undefined;
      }
    }),
  );
}
