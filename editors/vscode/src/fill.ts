// A whole function, written into the document while its canvas comes into focus, then kept or dismissed.
//
// The document holds committed text only; the canvas is drawn behind it. All of it is one undo step. The first edit by
// anybody else ends it, and what was written so far stays. While another tab hides the document it waits: VS Code lets
// only an editor that is shown write without an undo step of its own.
import * as vscode from "vscode";
import { ErrorCodes, ProgressType, ResponseError } from "vscode-languageclient/node";
import type { Server } from "./server";
import { drawn } from "./sites";
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
  document: vscode.TextDocument;
  /** What was there, and the cursor as it was. */
  original: string;
  selections: readonly vscode.Selection[];
  /** Where the text stands that was written so far. */
  range: vscode.Range | undefined;
  text: string;
  /** What came last; it may not be written yet. */
  last: { at: Edit["range"]; text: string; canvas: (string | null)[] } | undefined;
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
    vscode.workspace.onDidCloseTextDocument((document) => this.now?.document === document && this.end()),
    vscode.window.onDidChangeActiveTextEditor(() => this.keys()),
    vscode.window.onDidChangeVisibleTextEditors(() => this.now && this.write(this.now)),
  ];

  constructor(
    private readonly server: Server,
    private readonly status: Status,
  ) {}

  /** Why nothing is suggested in a document now. */
  busy(document: vscode.TextDocument): string | undefined {
    return this.now?.document === document ? "dlsp is filling in a function here." : undefined;
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
    const plain = { original: "", range: undefined, text: "", last: undefined, ours: 0, finished: false };
    const filling: Filling = { document, selections, asked, writing: Promise.resolve(), ...plain };
    this.now = filling;
    this.keys();
    this.status.set("thinking", "filling in the function");

    const partialResultToken = `dlsp-fill-${++this.number}`;
    const partials = client.onProgress(new ProgressType<Partial & Edit>(), partialResultToken, (seen) => {
      filling.last = { at: seen.range, text: seen.committed, canvas: seen.canvas };
      this.write(filling);
    });
    try {
      const textDocument = { uri: client.code2ProtocolConverter.asUri(document.uri) };
      const edit: Edit = await client.sendRequest(METHOD, { textDocument, position, partialResultToken }, asked.token);
      filling.finished = true;
      filling.last = { at: edit.range, text: edit.newText, canvas: [] };
      this.write(filling);
      await filling.writing;
    } catch (error) {
      if (this.now === filling) {
        await this.dismiss();
        tell(reason(error));
      }
    } finally {
      partials.dispose();
      if (this.status.state === "thinking") {
        this.status.set("ready"); // not where the server has ended and is started again
      }
    }
  }

  /** Keep the function. */
  async keep(): Promise<void> {
    const filling = this.now;
    await filling?.writing;
    if (filling?.finished && this.now === filling) {
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
    const { document, range, original, selections } = filling;
    this.end();
    const [editor] = editors(document);
    if (range && editor) {
      await editor.edit((edit) => edit.replace(range, original), { undoStopBefore: false, undoStopAfter: true });
      editor.selections = selections;
    } else if (range) {
      const edit = new vscode.WorkspaceEdit();
      edit.replace(document.uri, range, original);
      await vscode.workspace.applyEdit(edit);
    }
  }

  dispose(): void {
    this.end();
    vscode.Disposable.from(this.region, this.canvas, ...this.watches).dispose();
  }

  /** Have the document show what came last, once the edits before are done. */
  private write(filling: Filling): void {
    filling.writing = filling.writing.then(() => this.writeNow(filling));
  }

  private async writeNow(filling: Filling): Promise<void> {
    const [editor] = editors(filling.document);
    if (this.now !== filling || !filling.last || !editor) {
      return;
    }
    const { at, text, canvas } = filling.last;
    const first = filling.range === undefined;
    const old = filling.range ?? new vscode.Range(position(at.start), position(at.end));
    if (first) {
      filling.original = editor.document.getText(old);
    }
    if (first || text !== filling.text) {
      const along = !first && text.startsWith(filling.text);
      filling.ours = 1;
      const done = await editor
        .edit((edit) => (along ? edit.insert(old.end, text.slice(filling.text.length)) : edit.replace(old, text)), {
          undoStopBefore: first,
          undoStopAfter: false,
        })
        .then(undefined, () => undefined); // its tab was left just now
      filling.ours = 0;
      if (done === undefined) {
        return;
      }
      if (!done || this.now !== filling) {
        return this.end();
      }
      filling.range = new vscode.Range(old.start, endOf(old.start, text));
      filling.text = text;
    }
    this.keys(); // before the hint that names them
    this.draw(filling, canvas);
  }

  private draw({ document, range, text, finished }: Filling, canvas: (string | null)[]): void {
    if (!range) {
      return;
    }
    const line = range.start.line + (/^\r?\n/.test(text) ? 1 : 0);
    const contentText = drawn(
      finished ? "    Tab keeps, Esc dismisses" : canvas.map((token) => token ?? MASK).join(""),
    );
    const color = new vscode.ThemeColor(finished ? "editorCodeLens.foreground" : "editorGhostText.foreground");
    for (const editor of editors(document)) {
      editor.setDecorations(this.region, [new vscode.Range(line, 0, range.end.line, range.end.character)]);
      editor.setDecorations(this.canvas, [
        { range: new vscode.Range(range.end, range.end), renderOptions: { after: { contentText, color } } },
      ]);
    }
  }

  private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (this.now?.document === document && contentChanges.length > 0 && this.now.ours-- <= 0) {
      this.end();
    }
  }

  /** Whatever is in the document stays. */
  private end(): void {
    const filling = this.now;
    this.now = undefined;
    this.keys();
    filling?.asked.cancel();
    for (const editor of filling ? editors(filling.document) : []) {
      editor.setDecorations(this.region, []);
      editor.setDecorations(this.canvas, []);
    }
  }

  /** The keys are for the document that is filled in, not for another that is looked at meanwhile. */
  private keys(): void {
    const here = this.now !== undefined && this.now.document === vscode.window.activeTextEditor?.document;
    void vscode.commands.executeCommand("setContext", "dlsp.filling", here);
    void vscode.commands.executeCommand("setContext", "dlsp.filled", here && this.now?.finished);
  }
}

/** Those that show a document now, the active one first. VS Code makes new ones whenever a tab is come back to. */
function editors(document: vscode.TextDocument): vscode.TextEditor[] {
  const active = vscode.window.activeTextEditor;
  const shown = vscode.window.visibleTextEditors.filter((editor) => editor.document === document);
  return shown.sort((a, b) => Number(b === active) - Number(a === active));
}

function tell(sentence: string): void {
  void vscode.window.showInformationMessage(sentence.startsWith("dlsp") ? sentence : `dlsp: ${sentence}`);
}

function reason(error: unknown): string {
  if (!(error instanceof ResponseError)) {
    return "the function could not be filled in; see the log.";
  }
  const ended = error.code === ErrorCodes.PendingResponseRejected;
  return ended ? "the server ended before the function was filled in." : error.message;
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
