// Change lines by an instruction in plain words, such as "use a dict comprehension".
import * as vscode from "vscode";
import { type Preview, tell } from "./preview";
import type { Server } from "./server";

/** The selected lines, or the cursor's; the instruction is asked for. */
export async function instruct(preview: Preview, server: Server): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return tell("open a file and select the lines to change.");
  }
  const { start, end } = editor.selection;
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  const range = new vscode.Range(start.line, 0, last, 0);
  const lines = last - start.line;
  const instruction = await vscode.window.showInputBox({
    title: `dlsp: Instruct (${lines} line${lines > 1 ? "s" : ""})`,
    prompt: "What to change in these lines. The change is shown before anything is written.",
    placeHolder: "for example: use a set instead of a list",
  });
  if (!instruction?.trim()) {
    return;
  }
  await preview.start(editor, {
    method: "dlsp/instruct",
    params: {
      textDocument: { uri: server.client?.code2ProtocolConverter.asUri(editor.document.uri) },
      range: { start: range.start, end: range.end },
      instruction,
    },
    at: range.start,
    working: "following the instruction",
    failed: "the instruction could not be followed",
  });
}
