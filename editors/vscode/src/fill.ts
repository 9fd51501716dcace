// A whole function, written into the document while its canvas comes into focus, then kept or dismissed.
//
// The document holds committed text only; the canvas is drawn behind it. All of it is one undo step. The first edit by
// anybody else ends it, and what was written so far stays.
import * as vscode from "vscode";
import { ProgressType, ResponseError } from "vscode-languageclient/node";
import type { Server } from "./server";
import type { Status } from "./status";

const METHOD = "dlsp/fill";
const MASK = "░";

interface Partial {
  committed: string;
  canvas: (string | null)[];
}
interface Edit {
  range: { start: vscode.Position; end: vscode.Position };
  newText: string;
}

interface Filling {
  editor: vscode.TextEditor;
  /** What was there, and the cursor as it was. */
  original: string;
  selections: readonly vscode.Selection[];
  /** Where the text stands that was written so far. */
  range: vscode.Range | undefined;
  text: string;
  asked: vscode.CancellationTokenSource;
  /** Edits one after the other. */
  writing: Promise<void>;
  /** Changes of the document that our own edit in progress may still make. */
  ours: number;
  finished: boolean;
}

export class Fill implements vscode.Disposable {
  private now: Filling | undefined;
  private number = 0;
  private readonly region = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedTextBackground"),
    isWholeLine: true,
  });
  private readonly canvas = vscode.window.createTextEditorDecorationType({});
  private readonly watches = [
    vscode.workspace.onDidChangeTextDocument((change) => this.changed(change)),
    vscode.workspace.onDidCloseTextDocument((document) => this.now?.editor.document === document && this.end()),
  ];

  constructor(
    private readonly server: Server,
    private readonly status: Status,
  ) {}

  /** Why nothing is suggested in a document now. */
  busy(document: vscode.TextDocument): string | undefined {
    return this.now?.editor.document === document ? "dlsp is filling in a function here." : undefined;
  }

  /** Write the function at a position, by default at the cursor. */
  async start(at?: vscode.Position): Promise<void> {
    await this.dismiss();
    const editor = vscode.window.activeTextEditor;
    const client = this.server.client;
    if (!editor || !client?.isRunning()) {
      return tell(editor ? this.status.sentence() : "open a file and put the cursor on a function without a body.");
    }
    const { document, selections } = editor;
    const position = at ?? selections[0]?.active;
    const asked = new vscode.CancellationTokenSource();
    const plain = { original: "", range: undefined, text: "", ours: 0, finished: false };
    const filling: Filling = { editor, selections, asked, writing: Promise.resolve(), ...plain };
    this.now = filling;
    this.keys();
    this.status.set("thinking", "filling in the function");

    const partialResultToken = `dlsp-fill-${++this.number}`;
    const partials = client.onProgress(new ProgressType<Partial & Edit>(), partialResultToken, (seen) => {
      this.write(filling, seen.range, seen.committed, seen.canvas);
    });
    try {
      const textDocument = { uri: client.code2ProtocolConverter.asUri(document.uri) };
      const edit: Edit = await client.sendRequest(METHOD, { textDocument, position, partialResultToken }, asked.token);
      filling.finished = true;
      this.write(filling, edit.range, edit.newText, []);
      await filling.writing;
    } catch (error) {
      if (this.now === filling) {
        await this.dismiss();
        tell(error instanceof ResponseError ? error.message : "the function could not be filled in; see the log.");
      }
    } finally {
      partials.dispose();
      this.status.set("ready");
    }
  }

  /** Keep the function. */
  keep(): void {
    if (this.now?.finished) {
      this.end();
    }
  }

  /** Put back what was there. */
  async dismiss(): Promise<void> {
    const filling = this.now;
    if (!filling) {
      return;
    }
    filling.asked.cancel();
    await filling.writing;
    if (this.now !== filling) {
      return;
    }
    const { editor, range, original, selections } = filling;
    this.end();
    if (
      range &&
      (await editor.edit((edit) => edit.replace(range, original), { undoStopBefore: false, undoStopAfter: true }))
    ) {
      editor.selections = selections;
    }
  }

  dispose(): void {
    this.end();
    vscode.Disposable.from(this.region, this.canvas, ...this.watches).dispose();
  }

  /** Have the document show this much of the function, once the edits before are done. */
  private write(filling: Filling, at: Edit["range"], text: string, canvas: (string | null)[]): void {
    filling.writing = filling.writing.then(() => this.writeNow(filling, at, text, canvas));
  }

  private async writeNow(filling: Filling, at: Edit["range"], text: string, canvas: (string | null)[]): Promise<void> {
    if (this.now !== filling) {
      return;
    }
    const { editor } = filling;
    const first = filling.range === undefined;
    const old = filling.range ?? new vscode.Range(position(at.start), position(at.end));
    if (first) {
      filling.original = editor.document.getText(old);
    }
    if (first || text !== filling.text) {
      const along = !first && text.startsWith(filling.text);
      filling.ours = 1;
      const done = await editor.edit(
        (edit) => (along ? edit.insert(old.end, text.slice(filling.text.length)) : edit.replace(old, text)),
        { undoStopBefore: first, undoStopAfter: false },
      );
      filling.ours = 0;
      if (!done || this.now !== filling) {
        return this.end();
      }
      filling.range = new vscode.Range(old.start, endOf(old.start, text));
      filling.text = text;
    }
    this.keys(); // before the hint that names them
    this.draw(filling, canvas);
  }

  private draw({ editor, range, text, finished }: Filling, canvas: (string | null)[]): void {
    if (!range) {
      return;
    }
    const line = range.start.line + (/^\r?\n/.test(text) ? 1 : 0);
    const contentText = finished
      ? "    Tab keeps, Esc dismisses"
      : canvas.map((token) => token?.replaceAll(/\r?\n/g, "↵") ?? MASK).join("");
    const color = new vscode.ThemeColor(finished ? "editorCodeLens.foreground" : "editorGhostText.foreground");
    editor.setDecorations(this.region, [new vscode.Range(line, 0, range.end.line, range.end.character)]);
    editor.setDecorations(this.canvas, [
      { range: new vscode.Range(range.end, range.end), renderOptions: { after: { contentText, color } } },
    ]);
  }

  private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (this.now?.editor.document === document && contentChanges.length > 0 && this.now.ours-- <= 0) {
      this.end();
    }
  }

  /** Whatever is in the document stays. */
  private end(): void {
    const filling = this.now;
    this.now = undefined;
    this.keys();
    filling?.asked.cancel();
    filling?.editor.setDecorations(this.region, []);
    filling?.editor.setDecorations(this.canvas, []);
  }

  private keys(): void {
    void vscode.commands.executeCommand("setContext", "dlsp.filling", this.now !== undefined);
    void vscode.commands.executeCommand("setContext", "dlsp.filled", this.now?.finished ?? false);
  }
}

function tell(sentence: string): void {
  void vscode.window.showInformationMessage(sentence.startsWith("dlsp") ? sentence : `dlsp: ${sentence}`);
}

function position({ line, character }: vscode.Position): vscode.Position {
  return new vscode.Position(line, character);
}

/** Where `text` ends that begins at `start`. */
function endOf(start: vscode.Position, text: string): vscode.Position {
  const lines = text.split(/\r\n|\r|\n/);
  const last = lines.at(-1) ?? "";
  return new vscode.Position(start.line + lines.length - 1, last.length + (lines.length === 1 ? start.character : 0));
}
