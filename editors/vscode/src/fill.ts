// Fill in a whole function, or write selected lines anew: the text comes into focus while one looks.
import * as vscode from "vscode";
import { type Preview, tell } from "./preview";
import type { Server } from "./server";

/** By default at the cursor, or what is selected. `uri` is the document that it is meant for. */
export async function fill(preview: Preview, server: Server, range?: vscode.Range, uri?: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return tell("open a file and put the cursor on a function without a body.");
  }
  const asUri = server.client?.code2ProtocolConverter.asUri(editor.document.uri);
  if (uri !== undefined && uri !== asUri) {
    return; // another editor was gone to meanwhile
  }
  const chosen = range ?? editor.selection;
  await preview.start(editor, {
    method: "dlsp/fill",
    params: {
      textDocument: { uri: asUri },
      position: chosen.start,
      ...(chosen.isEmpty ? {} : { range: { start: chosen.start, end: chosen.end } }),
    },
    at: chosen.start,
    working: "filling in the function",
    failed: "the function could not be filled in",
  });
}
