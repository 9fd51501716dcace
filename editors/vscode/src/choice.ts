// Which suggestion is shown, and others in its place: turned through, or accepted in parts that VS Code does not know.
//
// VS Code's stable interface does not tell which of several items it shows. So it is given one at a time, and asked to
// ask again when that should be another one, or the rest of the same.
import * as vscode from "vscode";
import type { Feedback, Item } from "./feedback";
import { first, type Part } from "./parts";
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
  items: { insertText: string }[];
}

/** Suggestions for a place, as they were when the first of them was shown there. */
interface Shown {
  document: vscode.TextDocument;
  start: vscode.Position;
  /** The line before and after the place. */
  before: string;
  after: string;
  items: Item[];
  chosen: Item;
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
    const [before, after] = [line.slice(0, start.character), line.slice(start.character)];
    this.now = { document, start, before, after, items: [item], chosen: item, others: undefined, stays: false };
    this.feedback.shown(document, document.offsetAt(start), item);
  }

  /** Nothing is shown any more. */
  clear(): void {
    this.now = undefined;
  }

  /** The suggestion that the user chose, and what is left of it at a position; undefined if it does not fit there. */
  kept(document: vscode.TextDocument, position: vscode.Position): { item: Item; rest: string } | undefined {
    const shown = this.now?.stays && this.now.document === document ? this.now : undefined;
    const rest = shown && left(shown, position);
    return rest ? { item: shown.chosen, rest } : undefined;
  }

  /** Accept the next part of the suggestion at the cursor. */
  async accept(part: Part): Promise<void> {
    const found = this.atCursor();
    if (!found) {
      await vscode.commands.executeCommand(NATIVE[part]);
      return;
    }
    const { editor, shown, rest } = found;
    const text = first(rest, part);
    if (text === rest) {
      await vscode.commands.executeCommand(ALL);
      return;
    }
    shown.stays = true;
    const at = editor.selection.active;
    await editor.edit((edit) => edit.insert(at, text), { undoStopBefore: true, undoStopAfter: true });
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
    const fitting = shown.items.filter((item) => left(shown, position, item) !== undefined);
    const [chosen] = fitting.splice((fitting.indexOf(shown.chosen) + step + fitting.length) % fitting.length, 1);
    if (!chosen || fitting.length === 0) {
      return tell("the model has no other suggestion here.");
    }
    shown.chosen = chosen;
    shown.stays = true;
    const start = shown.document.offsetAt(shown.start);
    this.feedback.shown(shown.document, start, chosen, shown.document.offsetAt(position) - start);
    await vscode.commands.executeCommand(HIDE); // else it goes on showing what it was given for the same document
    await vscode.commands.executeCommand(AGAIN);
  }

  private atCursor(): { editor: vscode.TextEditor; shown: Shown; rest: string } | undefined {
    const editor = vscode.window.activeTextEditor;
    const shown = this.now;
    const rest = shown && shown.document === editor?.document && left(shown, editor.selection.active);
    return editor && shown && rest ? { editor, shown, rest } : undefined;
  }

  private async ask(shown: Shown, position: vscode.Position): Promise<void> {
    const client = this.server.client;
    if (!client?.isRunning()) {
      throw new Error("the server does not run.");
    }
    const written = typed(shown, position);
    const textDocument = { uri: client.code2ProtocolConverter.asUri(shown.document.uri) };
    const answer: Answer = await client.sendRequest(METHOD, { textDocument, position });
    const range = { start: shown.start, end: shown.start };
    for (const each of answer.items) {
      const insertText = written + each.insertText;
      if (!shown.items.some((known) => plain(known.insertText) === plain(insertText))) {
        shown.items.push({ insertText, range });
      }
    }
  }
}

/** What a suggestion still lacks at a position, lines parted by "\n"; undefined if something else was typed, or all. */
function left(shown: Shown, position: vscode.Position, item = shown.chosen): string | undefined {
  const { document, start, before, after } = shown;
  if (position.isBefore(start) || start.line >= document.lineCount) {
    return undefined;
  }
  const around =
    document.lineAt(start.line).text.startsWith(before) &&
    document.lineAt(position.line).text.slice(position.character) === after;
  const [text, soFar] = [plain(item.insertText), plain(typed(shown, position))];
  return around && text.startsWith(soFar) && text.length > soFar.length ? text.slice(soFar.length) : undefined;
}

function typed({ document, start }: Shown, position: vscode.Position): string {
  return document.getText(new vscode.Range(start, position));
}

function plain(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
