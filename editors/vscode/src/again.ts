// Requests a suggestion again for what was typed while the engine was loading.
import * as vscode from "vscode";
import type { Status } from "./status";

interface Edited {
  document: vscode.TextDocument;
  version: number;
}

/** Have VS Code ask again when the engine is ready, if what was typed last was not `answered` and the cursor is still
 * there. The server may also have ended between a request and its answer. */
export function askAgain(status: Status, answered: vscode.Event<void>): vscode.Disposable {
  let edited = early(vscode.window.activeTextEditor?.document);
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges, reason }) => {
      if (document === vscode.window.activeTextEditor?.document && contentChanges.length > 0) {
        const typed = reason === undefined && contentChanges.some(({ text }) => text);
        edited = typed ? { document, version: document.version } : undefined;
      }
    }),
    vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
      if (
        kind === vscode.TextEditorSelectionChangeKind.Mouse ||
        kind === vscode.TextEditorSelectionChangeKind.Command
      ) {
        edited = undefined;
      }
    }),
    answered(() => {
      edited = undefined;
    }),
    status.changed(({ before, state }) => {
      const document = vscode.window.activeTextEditor?.document;
      const here = edited && edited.document === document && edited.version === document.version;
      if (before === "loading" && state === "ready" && here) {
        void vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
      }
    }),
  );
}

/** What was typed before this extension was active. */
function early(document: vscode.TextDocument | undefined): Edited | undefined {
  return document?.isDirty && document.version > 1 ? { document, version: document.version } : undefined;
}
