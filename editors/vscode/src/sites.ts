// The places that should follow an edit, drawn in the editors: the text that would go, and the one that would come.
import * as vscode from "vscode";

/** One place; its range holds exactly `oldText`. */
export interface Site {
  id: string;
  uri: vscode.Uri;
  /** The document's version that the place is for; none for a file that is not open. */
  version: number | undefined;
  range: vscode.Range;
  oldText: string;
  newText: string;
  /** Whether it may be changed together with others, unseen. */
  certain: boolean;
}

export interface Hint {
  uri: vscode.Uri;
  line: number;
  text: string;
}

/** What marks a line in the margin; its gray is seen on light and on dark. */
const MARK = vscode.Uri.parse(
  `data:image/svg+xml;utf8,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M3 3l5 5-5 5M8 3l5 5-5 5" fill="none" ' +
      'stroke="#888" stroke-width="2"/></svg>',
  )}`,
);

export class Drawing implements vscode.Disposable {
  private readonly gone = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
    textDecoration: "line-through",
  });
  private readonly come = vscode.window.createTextEditorDecorationType({
    after: {
      backgroundColor: new vscode.ThemeColor("diffEditor.insertedTextBackground"),
      border: "1px dashed", // for high contrast themes, which have no background color here
      borderColor: new vscode.ThemeColor("diffEditor.insertedTextBorder"),
    },
  });
  private readonly keys = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground") },
  });

  private readonly mark = vscode.window.createTextEditorDecorationType({
    gutterIconPath: MARK,
    gutterIconSize: "60%",
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Right,
  });

  /** Draw these, and nothing else; of `marked` a mark in the margin. */
  show(sites: readonly Site[], hint: Hint | undefined, marked: readonly Site[] = []): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const marks = marked.filter((site) => stands(site, editor.document));
      editor.setDecorations(
        this.mark,
        marks.map((site) => new vscode.Range(site.range.start, site.range.start)),
      );
      const here = sites.filter((site) => stands(site, editor.document));
      editor.setDecorations(
        this.gone,
        here.filter((site) => !site.range.isEmpty).map((site) => site.range),
      );
      editor.setDecorations(
        this.come,
        here.map((site) => behind(site.range.end, site.newText)),
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
    vscode.Disposable.from(this.gone, this.come, this.keys, this.mark).dispose();
  }
}

/** Whether a place is in a document whose text is still the one that the place was made for. */
export function stands(site: Site, document: vscode.TextDocument): boolean {
  return (
    same(site.uri, document.uri) &&
    (site.version === undefined || site.version === document.version) &&
    document.getText(site.range) === site.oldText
  );
}

/** Whether a place is on the line of an editor's cursor. */
export function atCursor(site: Site, editor: vscode.TextEditor | undefined): boolean {
  const line = editor?.selection.active.line ?? -1;
  return (
    editor !== undefined &&
    stands(site, editor.document) &&
    site.range.start.line <= line &&
    line <= site.range.end.line
  );
}

export function same(a: vscode.Uri, b: vscode.Uri): boolean {
  return a.toString() === b.toString();
}

/** A text for a decoration, which has one line and would draw several blanks as one. */
export function drawn(text: string): string {
  return text.replaceAll(/\r?\n/g, "↵").replaceAll(" ", "\u00a0");
}

function behind(at: vscode.Position, text: string): vscode.DecorationOptions {
  return { range: new vscode.Range(at, at), renderOptions: { after: { contentText: drawn(text) } } };
}
