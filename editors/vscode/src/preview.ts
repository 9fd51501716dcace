// A change that the server proposes: shown as ghost text under the text that it replaces, then kept or dismissed.
//
// Nothing of it is in the document before it is kept, so that no formatter, linter, watcher or save sees half of it. A
// filled function and the answer to an instruction are both shown this way; one at a time. VS Code draws ghost text at
// the cursor alone: the cursor goes to the end of the text that is replaced, and the change is seen while it is there.
import * as vscode from "vscode";
import { ErrorCodes, ProgressType, ResponseError } from "vscode-languageclient/node";
import { SELECTOR, type Server } from "./server";
import { drawn } from "./sites";
import type { Status } from "./status";

const MASK = "░";
const REDRAW_MS = 120;
/** The command of the ghost text, for those who accept it by VS Code's own key or button. */
export const TAKEN = "dlsp.tookPreview";

interface Edit {
  range: { start: vscode.Position; end: vscode.Position };
  newText: string;
}
interface Partial {
  range: Edit["range"];
  committed: string;
  canvas: (string | null)[];
}

/** What the server is asked, and the words for it. */
export interface Request {
  method: string;
  params: object;
  /** Where it happens, until the server says. */
  at: vscode.Position;
  working: string;
  failed: string;
}

/** Something that has the word in a document, in the place of suggestions. */
export interface Busy {
  /** What it is doing there, in a sentence. */
  busy(document: vscode.TextDocument): string | undefined;
}

interface Proposal {
  document: vscode.TextDocument;
  request: Request;
  /** The cursors as they were. */
  selections: readonly vscode.Selection[];
  asked: vscode.CancellationTokenSource;
  /** What is to be replaced, and by what; not yet known at first. */
  change: { range: vscode.Range; text: string } | undefined;
  finished: boolean;
}

export class Preview implements vscode.Disposable, vscode.InlineCompletionItemProvider, Busy {
  private now: Proposal | undefined;
  private number = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly replaced = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
    textDecoration: "line-through",
  });
  private readonly hint = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground") },
  });
  private readonly watches = [
    vscode.languages.registerInlineCompletionItemProvider(SELECTOR, this),
    vscode.workspace.onDidChangeTextDocument((change) => this.changed(change)),
    vscode.workspace.onDidCloseTextDocument((document) => this.now?.document === document && this.end()),
    vscode.window.onDidChangeActiveTextEditor((editor) => this.looked(editor)),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.looked(textEditor)),
  ];

  constructor(
    private readonly server: Server,
    private readonly status: Status,
  ) {}

  busy(document: vscode.TextDocument): string | undefined {
    return this.now?.document === document ? `dlsp is ${this.now.request.working} here.` : undefined;
  }

  /** Ask for a change in the active editor, and show it. */
  async start(editor: vscode.TextEditor, request: Request): Promise<void> {
    await this.dismiss();
    const client = this.server.client;
    if (!client?.isRunning()) {
      return tell(this.status.sentence());
    }
    const asked = new vscode.CancellationTokenSource();
    const { document, selections } = editor;
    const proposal: Proposal = { document, request, selections, asked, change: undefined, finished: false };
    this.now = proposal;
    this.draw();
    this.status.next({ what: "working", message: request.working });
    const partialResultToken = `dlsp-preview-${++this.number}`;
    const partials = client.onProgress(new ProgressType<Partial>(), partialResultToken, (seen) => {
      const text = seen.committed + seen.canvas.map((token) => token ?? MASK).join("");
      this.show(proposal, { range: seen.range, newText: text });
    });
    try {
      const params = { ...request.params, partialResultToken };
      const edit: Edit = await client.sendRequest(request.method, params, asked.token);
      proposal.finished = true;
      this.show(proposal, edit);
    } catch (error) {
      if (this.now === proposal) {
        await this.dismiss();
        tell(reason(error, request));
      }
    } finally {
      partials.dispose();
      this.status.next({ what: "worked" });
    }
  }

  /** Keep the change, if all of it is there and seen; else go to where it is seen. */
  async keep(): Promise<void> {
    const proposal = this.now;
    const editor = vscode.window.activeTextEditor;
    if (!proposal?.finished || !proposal.change || editor?.document !== proposal.document) {
      return;
    }
    if (!this.seen(editor)) {
      return this.visit(editor, proposal);
    }
    const { range, text } = proposal.change;
    this.end();
    await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
    await editor.edit((edit) => edit.replace(range, text), { undoStopBefore: true, undoStopAfter: true });
    const end = endOf(range.start, text.replace(/\r?\n$/, ""));
    editor.selection = new vscode.Selection(end, end);
  }

  /** Take away what is shown or on its way. */
  async dismiss(): Promise<void> {
    const proposal = this.now;
    if (!proposal) {
      return;
    }
    this.end();
    const editor = vscode.window.activeTextEditor;
    if (editor?.document === proposal.document) {
      await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
      if (proposal.change) {
        editor.selections = proposal.selections;
      }
    }
  }

  /** The ghost text was accepted by VS Code's own key: take away what it replaces. */
  async taken(uri: string, replaced: vscode.Range): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.toString() === uri && !replaced.isEmpty) {
      await editor.edit((edit) => edit.delete(replaced), { undoStopBefore: false, undoStopAfter: true });
    }
  }

  provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
  ): vscode.InlineCompletionItem[] | undefined {
    const proposal = this.now;
    if (proposal?.document !== document || !proposal.change) {
      return undefined;
    }
    const { anchor, ghost, gone } = layout(document, proposal.change);
    if (!anchor.isEqual(position)) {
      return undefined;
    }
    const command = { command: TAKEN, title: "", arguments: [document.uri.toString(), gone] };
    return [new vscode.InlineCompletionItem(ghost, new vscode.Range(anchor, anchor), command)];
  }

  dispose(): void {
    this.end();
    vscode.Disposable.from(this.replaced, this.hint, ...this.watches).dispose();
  }

  private show(proposal: Proposal, edit: Edit): void {
    if (this.now !== proposal) {
      return;
    }
    const first = proposal.change === undefined;
    proposal.change = {
      range: new vscode.Range(position(edit.range.start), position(edit.range.end)),
      text: edit.newText,
    };
    const editor = vscode.window.activeTextEditor;
    if (editor?.document !== proposal.document) {
      return;
    }
    if (first) {
      this.visit(editor, proposal);
      return;
    }
    this.draw();
    if (this.seen(editor)) {
      this.trigger();
    }
  }

  /** Put the cursor where the change is seen. */
  private visit(editor: vscode.TextEditor, { document, change }: Proposal): void {
    if (change) {
      const { anchor } = layout(document, change);
      editor.revealRange(change.range);
      if (this.seen(editor)) {
        this.trigger();
      } else {
        editor.selection = new vscode.Selection(anchor, anchor); // drawn when the cursor has got there
      }
    }
    this.draw();
  }

  /** Have the ghost text drawn soon, as it is then. */
  private trigger(): void {
    this.timer ??= setTimeout(() => void this.triggerNow(), REDRAW_MS);
  }

  /** Have VS Code ask for the ghost text again. Unasked, it goes on showing what it was given for the same document. */
  private async triggerNow(): Promise<void> {
    this.timer = undefined;
    await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
    if (this.now) {
      await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
    }
  }

  /** Whether the cursor is where the change is seen. */
  private seen(editor: vscode.TextEditor): boolean {
    const change = this.now?.change;
    return (
      change !== undefined &&
      editor.selection.isEmpty &&
      layout(editor.document, change).anchor.isEqual(editor.selection.active)
    );
  }

  /** Another editor or place is looked at: that of the change shows it again. */
  private looked(editor: vscode.TextEditor | undefined): void {
    if (!this.now) {
      return;
    }
    this.draw();
    if (editor && this.now.document === editor.document && this.seen(editor)) {
      this.trigger();
    }
  }

  private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (this.now?.document === document && contentChanges.length > 0) {
      this.end();
    }
  }

  private end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.now) {
      this.now.asked.cancel();
      this.now = undefined;
      this.draw();
    }
  }

  /** What is replaced, and what the keys do. */
  private draw(): void {
    this.keys(); // before the hint that names them
    for (const editor of vscode.window.visibleTextEditors) {
      const proposal = this.now?.document === editor.document ? this.now : undefined;
      const range = proposal?.change?.range;
      editor.setDecorations(this.replaced, range ? inked(editor.document, range) : []);
      if (!proposal) {
        editor.setDecorations(this.hint, []);
        continue;
      }
      const words = proposal.finished ? "Tab keeps, Esc dismisses" : `${proposal.request.working}, Esc stops it`;
      const end = editor.document.lineAt((range?.start ?? proposal.request.at).line).range.end;
      const after = { contentText: drawn(`    ${words}`) };
      editor.setDecorations(this.hint, [{ range: new vscode.Range(end, end), renderOptions: { after } }]);
    }
  }

  /** The keys are for the document that is changed, not for another that is looked at meanwhile. */
  private keys(): void {
    const here = this.now !== undefined && this.now.document === vscode.window.activeTextEditor?.document;
    void vscode.commands.executeCommand("setContext", "dlsp.previewing", here);
  }
}

/** Where a change is drawn: `ghost` is text at `anchor`, the end of the last line that is replaced; `gone` is what to
 * delete when the ghost text has become text. */
function layout(document: vscode.TextDocument, { range, text }: { range: vscode.Range; text: string }) {
  const { start, end } = range;
  const whole = end.character === 0 && end.line > start.line; // the range ends with a line, and so does the text
  const anchor = document.lineAt(whole ? end.line - 1 : end.line).range.end;
  const before = document.lineAt(start.line).text.slice(0, start.character);
  const lines = (before + text).split(/\r\n|\r|\n/);
  if (whole && lines.at(-1) === "") {
    lines.pop();
  }
  const stays = /\S/.test(before); // the line's beginning stays where it is
  const ghost = `\n${lines.slice(stays ? 1 : 0).join("\n")}`;
  const gone = stays ? new vscode.Range(start, anchor) : new vscode.Range(start.line, 0, anchor.line + 1, 0);
  return { anchor, ghost, gone };
}

/** The parts of a range that have ink: blanks at the beginning of a line are not struck through. */
function inked(document: vscode.TextDocument, { start, end }: vscode.Range): vscode.Range[] {
  const parts: vscode.Range[] = [];
  for (let row = start.line; row <= end.line; row++) {
    const line = document.lineAt(row);
    const from = Math.max(line.firstNonWhitespaceCharacterIndex, row === start.line ? start.character : 0);
    const to = row === end.line ? end.character : line.text.length;
    if (from < to) {
      parts.push(new vscode.Range(row, from, row, to));
    }
  }
  return parts;
}

export function tell(sentence: string): void {
  void vscode.window.showInformationMessage(sentence.startsWith("dlsp") ? sentence : `dlsp: ${sentence}`);
}

function reason(error: unknown, request: Request): string {
  if (!(error instanceof ResponseError)) {
    return `${request.failed}; see the log.`;
  }
  const ended = error.code === ErrorCodes.PendingResponseRejected;
  return ended ? "the server ended before it had an answer." : error.message;
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
