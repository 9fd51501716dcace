// Next edits: the places that should follow the user's last edit are asked for, shown, visited, changed or dismissed.
//
// What is shown is valid until the next change that is not ours; then the server, which remembers, is asked again.
import * as vscode from "vscode";
import { ErrorCodes, type LanguageClient, ResponseError } from "vscode-languageclient/node";
import type { Server } from "./server";
import { atCursor, Drawing, type Hint, type Site, same, stands } from "./sites";

const METHOD = "dlsp/edits";
const PAUSE_MS = 500;
const NONE = "dlsp: no place should follow an edit.";
const UNSURE = "dlsp: no place follows the edit for certain; go through them one by one.";
const MOST_NAMED = 3; // files in the sentence after a change
const MOST_LINES = 8; // named of one file

/** How places are shown by themselves: all of them, or marks in the margin and the one on the cursor's line, or none. */
type Mode = "eager" | "subtle" | "off";

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
  /** Documents with places, or with the edit itself, since the last change that was not ours: the keys work in these. */
  private readonly concerned = new Set<string>();
  private asked: vscode.CancellationTokenSource | undefined;
  private writing = false;
  /** Between a change of ours and the server's next answer, for which a Tab that comes meanwhile waits. */
  private renewing = false;
  /** The keys that are being dealt with, one after the other. */
  private going = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  /** A client whose server does not know the request. */
  private deaf: LanguageClient | undefined;
  /** The context keys as they were set last. */
  private readonly context = new Map<string, boolean>();
  private readonly drawing = new Drawing();
  /** Whether what is drawn depends on where the cursor is. */
  private byCursor = false;
  private readonly watches = [
    vscode.workspace.onDidChangeTextDocument((change) => this.changed(change)),
    vscode.window.onDidChangeTextEditorSelection(() => this.moved()),
    vscode.window.onDidChangeActiveTextEditor(() => this.moved()),
    vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
  ];

  /** `off` says why a document is left alone. */
  constructor(
    private readonly server: Server,
    private readonly off: (document: vscode.TextDocument) => string | undefined,
  ) {}

  /** Change the place at the cursor; go to the next place where there is none. */
  goOn(): Promise<void> {
    const before = this.going.catch(() => undefined); // one that failed, since its file is gone, does not stop the next
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

  /** Change all places that certainly follow the edit, one undo step in each document. Where some are in other files or
   * out of sight, files and lines are named and the user chooses the files. */
  async acceptAll(): Promise<void> {
    const shown = this.sites;
    const sites = shown.filter((site) => site.certain);
    if (sites.length === 0) {
      return void vscode.window.showInformationMessage(UNSURE);
    }
    const files = byFile(sites);
    const here = vscode.window.activeTextEditor?.document.uri;
    if (sites.every((site) => here && same(site.uri, here) && inSight(site))) {
      return this.apply(sites);
    }
    const title = `Change ${places(sites.length)} in ${files.length} file${files.length > 1 ? "s" : ""}?`;
    const items = files.map(({ uri, lines }) => ({
      label: vscode.workspace.asRelativePath(uri),
      description: told(lines),
      picked: true,
      uri,
    }));
    const chosen = await vscode.window.showQuickPick(items, { canPickMany: true, title });
    if (chosen && chosen.length > 0 && this.sites === shown) {
      await this.apply(sites.filter((site) => chosen.some(({ uri }) => same(uri, site.uri))));
      const names = chosen.slice(0, MOST_NAMED).map(({ label }) => label);
      const more = chosen.length > MOST_NAMED ? ` and ${chosen.length - MOST_NAMED} more` : "";
      vscode.window.setStatusBarMessage(`dlsp: changed ${names.join(", ")}${more}, not saved.`, 10_000);
    }
  }

  /** Dismiss these places. */
  dismiss(): void {
    this.concerned.clear();
    this.clear();
    this.server.notify("dlsp/didDismissEdits", {});
  }

  dispose(): void {
    this.clear();
    vscode.Disposable.from(this.drawing, ...this.watches).dispose();
  }

  /** Take away what is shown, and cancel what was asked. */
  clear(): void {
    clearTimeout(this.timer);
    this.asked?.cancel();
    this.asked = undefined;
    if (this.sites.length === 0 && !this.hint) {
      this.keys(); // nothing is drawn
      return;
    }
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
      return; // several cursors change the places by themselves
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
    this.hint =
      edit && sites.length > 0
        ? { uri: asUri(edit.uri), line: edit.range.start.line, text: hint(asUri(edit.uri), this.sites) }
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
    if (mine && mode(document) !== "off") {
      this.timer = setTimeout(() => void this.ask(), PAUSE_MS);
    }
  }

  private draw(): void {
    const editor = vscode.window.activeTextEditor;
    this.byCursor = editor !== undefined && mode(editor.document) === "subtle";
    if (!editor || !this.byCursor) {
      this.drawing.show(this.sites, this.hint);
      return;
    }
    const sites = this.sites.filter((site) => atCursor(site, editor));
    const { uri } = editor.document;
    const hinted = { uri, line: editor.selection.active.line, text: hint(uri, this.sites) };
    this.drawing.show(sites, sites.length > 0 ? hinted : undefined, this.sites);
  }

  /** The cursor is elsewhere. */
  private moved(): void {
    this.keys();
    const editor = vscode.window.activeTextEditor;
    if (this.sites.length > 0 && (this.byCursor || (editor && mode(editor.document) === "subtle"))) {
      this.draw();
    }
  }

  /** At the beginning of a line Tab goes on indenting, unless a place is there; in other documents it is a Tab. In the mode
   * `subtle` keys are for a place only while it is drawn. */
  private keys(): void {
    const editor = vscode.window.activeTextEditor;
    const some = this.renewing || (this.sites.length > 0 && this.concerned.has(editor?.document.uri.toString() ?? ""));
    const quiet = editor !== undefined && mode(editor.document) === "subtle";
    const drawn = some && (this.renewing || !quiet || this.sites.some((site) => atCursor(site, editor)));
    this.set("dlsp.edits", some);
    this.set("dlsp.editKeys", drawn);
    this.set("dlsp.canGoOn", drawn && (this.renewing || this.here() !== undefined || !indents()));
  }

  /** Set a context key, if it is to be another than it is. */
  private set(name: string, value: boolean): void {
    if (this.context.get(name) !== value) {
      this.context.set(name, value);
      void vscode.commands.executeCommand("setContext", name, value);
    }
  }
}

/** The setting; `true` and `false` are from before it had three values. */
function mode(document: vscode.TextDocument): Mode {
  const given = vscode.workspace.getConfiguration("dlsp", document).get<Mode | boolean>("edits", "eager");
  return given === true ? "eager" : given === false ? "off" : given;
}

/** The places in each file, in their order: their lines, from 1. */
function byFile(sites: readonly Site[]): { uri: vscode.Uri; lines: number[] }[] {
  const files = new Map<string, { uri: vscode.Uri; lines: number[] }>();
  for (const { uri, range } of sites) {
    const file = files.get(uri.toString()) ?? { uri, lines: [] };
    file.lines.push(range.start.line + 1);
    files.set(uri.toString(), file);
  }
  return [...files.values()];
}

/** Whether an editor shows the line of a place. */
function inSight({ uri, range }: Site): boolean {
  return vscode.window.visibleTextEditors.some(
    (editor) => same(uri, editor.document.uri) && editor.visibleRanges.some((seen) => seen.contains(range.start)),
  );
}

/** How many places there are in a file, and in which lines. */
function told(lines: readonly number[]): string {
  const more = lines.length > MOST_LINES ? ` and ${lines.length - MOST_LINES} more` : "";
  const named = lines.slice(0, MOST_LINES).join(", ");
  return `${places(lines.length)}: line${lines.length > 1 ? "s" : ""} ${named}${more}`;
}

function places(count: number): string {
  return `${count} place${count > 1 ? "s" : ""}`;
}

/** What there is, where, and what the keys do, in a few words. */
function hint(edited: vscode.Uri, sites: readonly Site[]): string {
  const files = byFile(sites);
  const [first] = files;
  const here = files.some(({ uri }) => same(uri, edited));
  const [one, name] = [sites.length === 1, first ? vscode.workspace.asRelativePath(first.uri) : ""];
  const unseen = here || files.length > 1 ? sites.filter((site) => !inSight(site)).length : 0;
  const hidden = unseen === 0 ? "" : one ? ", out of sight" : `, ${unseen} out of sight`;
  const where = (files.length > 1 ? ` in ${files.length} files` : here ? "" : `, in ${name}`) + hidden;
  const tab = here ? "Tab next" : one ? "Tab shows it" : "Tab shows the first";
  const certain = sites.filter((site) => site.certain).length;
  const all = certain === sites.length ? "all" : `the ${certain} that are certain`;
  return `${places(sites.length)}${where}: ${tab}${(one && !here) || certain === 0 ? "" : `, Shift+Tab ${all}`}, Esc none`;
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
