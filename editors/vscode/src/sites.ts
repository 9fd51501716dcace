// The places that an edit should be carried on to, drawn in the editors: what would go, and what would come.
import * as vscode from "vscode";

/** One place; its range holds exactly `oldText`. */
export interface Site {
  id: string;
  uri: vscode.Uri;
  /** Of the document that it holds for; none for a file that is not open. */
  version: number | undefined;
  range: vscode.Range;
  oldText: string;
  newText: string;
}

export interface Hint {
  uri: vscode.Uri;
  line: number;
  text: string;
}

export class Drawing implements vscode.Disposable {
  private readonly gone = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
    textDecoration: "line-through",
  });
  private readonly come = vscode.window.createTextEditorDecorationType({
    after: { backgroundColor: new vscode.ThemeColor("diffEditor.insertedTextBackground") },
  });
  private readonly keys = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground") },
  });

  /** Draw these, and nothing else. */
  show(sites: readonly Site[], hint: Hint | undefined): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const here = sites.filter((site) => stands(site, editor.document));
      editor.setDecorations(
        this.gone,
        here.filter((site) => !site.range.isEmpty).map((site) => site.range),
      );
      editor.setDecorations(
        this.come,
        here.map((site) => behind(site.range.end, site.newText.replaceAll(/\r?\n/g, "↵"))),
      );
      const line = hint && same(hint.uri, editor.document.uri) ? hint.line : undefined;
      editor.setDecorations(
        this.keys,
        hint && line !== undefined && line < editor.document.lineCount
          ? [behind(editor.document.lineAt(line).range.end, `    ${hint.text}`)]
          : [],
      );
    }
  }

  dispose(): void {
    vscode.Disposable.from(this.gone, this.come, this.keys).dispose();
  }
}

/** Whether a place is in a document, and the document as it was meant. */
export function stands(site: Site, document: vscode.TextDocument): boolean {
  return (
    same(site.uri, document.uri) &&
    (site.version === undefined || site.version === document.version) &&
    document.getText(site.range) === site.oldText
  );
}

export function same(a: vscode.Uri, b: vscode.Uri): boolean {
  return a.toString() === b.toString();
}

function behind(at: vscode.Position, contentText: string): vscode.DecorationOptions {
  return { range: new vscode.Range(at, at), renderOptions: { after: { contentText } } };
}
