// Which suggestion is shown, and others in its place: turned through, or accepted in parts that VS Code does not know.
//
// VS Code's stable interface does not tell which of several items it shows. So it is given one at a time, and asked to
// ask again when that should be another one, or the rest of the same.
import * as vscode from "vscode";
import type { Feedback, Item } from "./feedback";
import { closed, first, type Part } from "./parts";
import { tell } from "./preview";
import type { Server } from "./server";

const METHOD = "dlsp/alternatives";
const AGAIN = "editor.action.inlineSuggest.trigger";
const HIDE = "editor.action.inlineSuggest.hide";
const ALL = "editor.action.inlineSuggest.commit";
/** What VS Code does itself, where the suggestion that is shown is not ours. */
const NATIVE = {
  part: "editor.action.inlineSuggest.acceptNextWord",
  block: "editor.action.inlineSuggest.acceptNextLine",
  next: "editor.action.inlineSuggest.showNext",
  previous: "editor.action.inlineSuggest.showPrevious",
};

interface Answer {
  items: { insertText: string; range: { end: { character: number } } }[];
}

/** A suggestion, and its line behind the closing brackets and quotes that it replaces. */
interface Choosable {
  item: Item;
  after: string;
}

/** What of a suggestion comes at a position, and the closing brackets and quotes behind it that this replaces. */
interface Left {
  rest: string;
  closers: string;
}

/** Suggestions for a place, as they were when the first of them was shown there. */
interface Shown {
  document: vscode.TextDocument;
  start: vscode.Position;
  /** The line before the place. */
  before: string;
  all: Choosable[];
  chosen: Choosable;
  /** Others were asked for. */
  others: Promise<void> | undefined;
  /** Whether the chosen one stays while its text is typed, whatever the server would suggest then. */
  stays: boolean;
}

export class Choice {
  private now: Shown | undefined;

  constructor(
    private readonly server: Server,
    private readonly feedback: Feedback,
  ) {}

  /** A suggestion of the server's goes to the editor. */
  shown(document: vscode.TextDocument, start: vscode.Position, item: Item): void {
    const line = document.lineAt(start.line).text;
    const chosen = { item, after: line.slice(item.range?.end.character ?? start.character) };
    const before = line.slice(0, start.character);
    this.now = { document, start, before, all: [chosen], chosen, others: undefined, stays: false };
    this.feedback.shown(document, document.offsetAt(start), item);
  }

  /** Nothing is shown any more. */
  clear(): void {
    this.now = undefined;
  }

  /** The suggestion that the user chose, and what is left of it at a position; undefined if it does not fit there. */
  kept(document: vscode.TextDocument, position: vscode.Position): (Left & { item: Item }) | undefined {
    const shown = this.now?.stays && this.now.document === document ? this.now : undefined;
    const found = shown && left(shown, position);
    return found && { ...found, item: shown.chosen.item };
  }

  /** Accept the next part of the suggestion at the cursor. */
  async accept(part: Part): Promise<void> {
    const found = this.atCursor();
    if (!found) {
      await vscode.commands.executeCommand(NATIVE[part]);
      return;
    }
    const { editor, shown, rest, closers } = found;
    const text = first(rest, part);
    if (text === rest) {
      await vscode.commands.executeCommand(ALL);
      return;
    }
    shown.stays = true;
    const at = editor.selection.active;
    const replaced = new vscode.Range(at, at.translate(0, closed(text, closers)));
    await editor.edit((edit) => edit.replace(replaced, text), { undoStopBefore: true, undoStopAfter: true });
    const lines = text.split("\n");
    const character = (lines.at(-1) ?? "").length + (lines.length === 1 ? at.character : 0);
    const end = new vscode.Position(at.line + lines.length - 1, character);
    editor.selection = new vscode.Selection(end, end);
    await vscode.commands.executeCommand(AGAIN);
  }

  /** Show the next or the previous suggestion for the cursor's place; the server is asked once for others. */
  async turn(step: 1 | -1): Promise<void> {
    const found = this.atCursor();
    if (!found) {
      await vscode.commands.executeCommand(step > 0 ? NATIVE.next : NATIVE.previous);
      return;
    }
    const { editor, shown } = found;
    shown.others ??= this.ask(shown, editor.selection.active);
    try {
      await shown.others;
    } catch (error) {
      shown.others = undefined;
      return tell(error instanceof Error ? error.message : "the server could not be asked.");
    }
    const position = editor.selection.active;
    if (this.now !== shown || left(shown, position) === undefined) {
      return; // something else was typed meanwhile
    }
    const fitting = shown.all.filter((each) => left(shown, position, each) !== undefined);
    const [chosen] = fitting.splice((fitting.indexOf(shown.chosen) + step + fitting.length) % fitting.length, 1);
    if (!chosen || fitting.length === 0) {
      return tell("the model has no other suggestion here.");
    }
    shown.chosen = chosen;
    shown.stays = true;
    const start = shown.document.offsetAt(shown.start);
    this.feedback.shown(shown.document, start, chosen.item, shown.document.offsetAt(position) - start);
    await vscode.commands.executeCommand(HIDE); // else it goes on showing what it was given for the same document
    await vscode.commands.executeCommand(AGAIN);
  }

  private atCursor(): (Left & { editor: vscode.TextEditor; shown: Shown }) | undefined {
    const editor = vscode.window.activeTextEditor;
    const shown = this.now;
    const found = shown && shown.document === editor?.document ? left(shown, editor.selection.active) : undefined;
    return editor && shown && found && { ...found, editor, shown };
  }

  private async ask(shown: Shown, position: vscode.Position): Promise<void> {
    const client = this.server.client;
    if (!client?.isRunning()) {
      throw new Error("the server does not run.");
    }
    const written = typed(shown, position);
    const line = shown.document.lineAt(position.line).text;
    const textDocument = { uri: client.code2ProtocolConverter.asUri(shown.document.uri) };
    const answer: Answer = await client.sendRequest(METHOD, { textDocument, position });
    for (const each of answer.items) {
      const insertText = written + each.insertText;
      if (!shown.all.some((known) => plain(known.item.insertText) === plain(insertText))) {
        shown.all.push({ item: { insertText }, after: line.slice(each.range.end.character) });
      }
    }
  }
}

/** What of a suggestion comes at a position, lines parted by "\n"; undefined if something else was typed, or all of it
 * but the closers that are there already. */
function left(shown: Shown, position: vscode.Position, { item, after } = shown.chosen): Left | undefined {
  const { document, start, before } = shown;
  if (position.isBefore(start) || start.line >= document.lineCount) {
    return undefined;
  }
  const behind = document.lineAt(position.line).text.slice(position.character);
  const [text, soFar] = [plain(item.insertText), plain(typed(shown, position))];
  const around = document.lineAt(start.line).text.startsWith(before) && behind.endsWith(after);
  const [rest, closers] = [text.slice(soFar.length), behind.slice(0, behind.length - after.length)];
  const fits = around && text.startsWith(soFar) && rest !== closers && closed(rest, closers) === closers.length;
  return fits ? { rest, closers } : undefined;
}

function typed({ document, start }: Shown, position: vscode.Position): string {
  return document.getText(new vscode.Range(start, position));
}

function plain(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
