// Carrying an edit on: the places that should follow the last edit are asked for, visited, accepted or dismissed.
//
// What is shown holds until the next change by anybody else; then the server, which remembers, is asked again.
import * as vscode from "vscode";
import { ErrorCodes, type LanguageClient, ResponseError } from "vscode-languageclient/node";
import type { Server } from "./server";
import { Drawing, type Hint, type Site, same, stands } from "./sites";

const METHOD = "dlsp/edits";
const PAUSE_MS = 500;
const NONE = "dlsp: no place to carry an edit on to.";
const UNSURE = "dlsp: no place follows the edit for certain; go through them one by one.";

interface Range {
  start: vscode.Position;
  end: vscode.Position;
}
interface Answer {
  edit: { uri: string; range: Range } | null;
  sites: {
    id: string;
    textDocument: { uri: string; version: number | null };
    range: Range;
    oldText: string;
    newText: string;
    certain: boolean;
  }[];
}

export class Edits implements vscode.Disposable {
  private sites: Site[] = [];
  private hint: Hint | undefined;
  /** Documents with places, or with the edit itself, since the last change by anybody else: the keys are for these. */
  private readonly concerned = new Set<string>();
  private asked: vscode.CancellationTokenSource | undefined;
  private writing = false;
  /** After a change of ours, until the server has answered anew: a Tab that comes meanwhile waits for that. */
  private renewing = false;
  /** Keys one after the other, however fast they come. */
  private going = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  /** A client whose server knows nothing of edits. */
  private deaf: LanguageClient | undefined;
  private readonly drawing = new Drawing();
  private readonly watches = [
    vscode.workspace.onDidChangeTextDocument((change) => this.changed(change)),
    vscode.window.onDidChangeTextEditorSelection(() => this.keys()),
    vscode.window.onDidChangeActiveTextEditor(() => this.keys()),
    vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
  ];

  /** `off` says why a document is left alone. */
  constructor(
    private readonly server: Server,
    private readonly off: (document: vscode.TextDocument) => string | undefined,
  ) {}

  /** Carry the edit on at the place at the cursor; go to the next place where there is none. */
  goOn(): Promise<void> {
    const before = this.going.catch(() => undefined); // a place whose file is gone is no end of all keys
    this.going = before.then(async () => {
      const site = this.here();
      if (site) {
        await this.apply([site]);
      } else if (indents()) {
        await vscode.commands.executeCommand("tab"); // the cursor was faster than the context key
      } else {
        await this.next();
      }
    });
    return this.going;
  }

  /** Go to the next place; look for places first where none are known. */
  async next(): Promise<void> {
    if (this.sites.length === 0) {
      await this.ask();
    }
    const site = this.ahead();
    if (!site) {
      return void vscode.window.showInformationMessage(NONE);
    }
    const editor = await vscode.window.showTextDocument(site.uri);
    editor.selection = new vscode.Selection(site.range.start, site.range.start);
    editor.revealRange(site.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Carry it on to every place that certainly follows it: one undo step in each document. */
  async acceptAll(): Promise<void> {
    const certain = this.sites.filter((site) => site.certain);
    if (certain.length === 0) {
      return void vscode.window.showInformationMessage(UNSURE);
    }
    await this.apply(certain);
  }

  /** None of these places. */
  dismiss(): void {
    this.concerned.clear();
    this.clear();
    this.server.notify("dlsp/didDismissEdits", {});
  }

  dispose(): void {
    this.clear();
    vscode.Disposable.from(this.drawing, ...this.watches).dispose();
  }

  /** Take away what is shown, and ask for nothing. */
  clear(): void {
    clearTimeout(this.timer);
    this.asked?.cancel();
    this.asked = undefined;
    this.sites = [];
    this.hint = undefined;
    this.draw();
    this.keys();
  }

  private async ask(): Promise<void> {
    this.clear();
    const editor = vscode.window.activeTextEditor;
    const client = this.server.client;
    if (!editor || !client?.isRunning() || client === this.deaf || this.off(editor.document)) {
      return;
    }
    if (editor.selections.length > 1) {
      return; // several cursors: what is typed is the user's way to carry it on
    }
    const asked = new vscode.CancellationTokenSource();
    this.asked = asked;
    const { document, selection } = editor;
    const textDocument = { uri: client.code2ProtocolConverter.asUri(document.uri), version: document.version };
    try {
      const given = { textDocument, position: selection.active };
      const answer: Answer = await client.sendRequest(METHOD, given, asked.token);
      if (this.asked === asked) {
        this.show(client, answer);
      }
    } catch (error) {
      if (error instanceof ResponseError && error.code === ErrorCodes.MethodNotFound) {
        this.deaf = client;
      }
    }
  }

  private show(client: LanguageClient, { edit, sites }: Answer): void {
    const { asUri } = client.protocol2CodeConverter;
    this.sites = sites.map(({ id, textDocument, range, oldText, newText, certain }) => ({
      id,
      uri: asUri(textDocument.uri),
      version: textDocument.version ?? undefined,
      range: new vscode.Range(position(range.start), position(range.end)),
      oldText,
      newText,
      certain,
    }));
    this.sites.sort((a, b) => compare(a.uri.toString(), b.uri.toString()) || a.range.start.compareTo(b.range.start));
    for (const each of [edit, ...sites.map(({ textDocument }) => textDocument)]) {
      if (each) {
        this.concerned.add(asUri(each.uri).toString());
      }
    }
    const places = `${sites.length} place${sites.length > 1 ? "s" : ""}`;
    this.hint =
      edit && sites.length > 0
        ? {
            uri: asUri(edit.uri),
            line: edit.range.start.line,
            text: `${places}: Tab goes on, Shift+Tab all, Esc none`,
          }
        : undefined;
    this.keys(); // before the hint that names them
    this.draw();
  }

  private async apply(chosen: readonly Site[]): Promise<void> {
    const edit = new vscode.WorkspaceEdit();
    for (const site of chosen) {
      const document = await vscode.workspace.openTextDocument(site.uri).then(undefined, () => undefined); // it is gone
      if (document && stands(site, document)) {
        edit.replace(site.uri, site.range, site.newText);
      }
    }
    this.writing = this.renewing = true;
    this.clear();
    try {
      await vscode.workspace.applyEdit(edit);
      this.writing = false;
      await this.ask();
    } finally {
      this.writing = this.renewing = false;
      this.keys();
    }
  }

  /** The place at the cursor. */
  private here(): Site | undefined {
    const editor = vscode.window.activeTextEditor;
    return this.sites.find(
      (site) => editor && stands(site, editor.document) && site.range.contains(editor.selection.active),
    );
  }

  /** The place after the cursor, in this document, in others, then from the beginning. */
  private ahead(): Site | undefined {
    const editor = vscode.window.activeTextEditor;
    const inThis = (site: Site) => editor !== undefined && same(site.uri, editor.document.uri);
    const later = (site: Site) => inThis(site) && editor?.selection.active.isBefore(site.range.start);
    return this.sites.find(later) ?? this.sites.find((site) => !inThis(site)) ?? this.sites[0];
  }

  private changed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (this.writing || contentChanges.length === 0) {
      return;
    }
    const mine = document === vscode.window.activeTextEditor?.document;
    if (mine || this.sites.some((site) => same(site.uri, document.uri))) {
      this.concerned.clear();
      this.clear();
    }
    if (mine && vscode.workspace.getConfiguration("dlsp", document).get<boolean>("edits", true)) {
      this.timer = setTimeout(() => void this.ask(), PAUSE_MS);
    }
  }

  private draw(): void {
    this.drawing.show(this.sites, this.hint);
  }

  /** At the beginning of a line Tab goes on indenting, unless a place is there; in other documents it is a Tab. */
  private keys(): void {
    const uri = vscode.window.activeTextEditor?.document.uri.toString() ?? "";
    const some = this.renewing || (this.sites.length > 0 && this.concerned.has(uri));
    const set = (name: string, value: boolean) => void vscode.commands.executeCommand("setContext", name, value);
    set("dlsp.edits", some);
    set("dlsp.canGoOn", some && (this.renewing || this.here() !== undefined || !indents()));
  }
}

/** Whether the cursor is at the beginning of a line. */
function indents(): boolean {
  const editor = vscode.window.activeTextEditor;
  const cursor = editor?.selection.active;
  return !cursor || !/\S/.test(editor.document.lineAt(cursor).text.slice(0, cursor.character));
}

function position({ line, character }: vscode.Position): vscode.Position {
  return new vscode.Position(line, character);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
