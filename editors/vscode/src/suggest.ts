// Suggestions between VS Code and the server: when to ask, and what to note about the answer.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import type { Choice } from "./choice";
import type { Item } from "./feedback";
import type { Busy } from "./preview";
import type { Answer } from "./server";
import type { Status } from "./status";
import type { Switch } from "./switch";

/** Until what was typed over for long comes back. */
const PAUSE_MS = 700;

/** The command that runs when a suggestion was accepted. */
export const ACCEPTED = "dlsp.accepted";

type Next = Parameters<NonNullable<Middleware["provideInlineCompletionItems"]>>[4];

export class Suggest {
  /** What became of the last request; undefined before the first. */
  last: Answer | undefined;
  private pause: NodeJS.Timeout | undefined;
  private readonly event = new vscode.EventEmitter<void>();
  /** Fires when a request of VS Code's is answered: by a suggestion, or by a reason for none. */
  readonly answered = this.event.event;

  constructor(
    private readonly onOff: Switch,
    private readonly status: Status,
    private readonly choice: Choice,
    private readonly other: Busy,
  ) {}

  /** What the server says became of a request. */
  told(answer: Answer): void {
    this.last = answer;
  }

  /** Middleware for VS Code's requests. */
  async provide(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
    next: Next,
  ): Promise<vscode.InlineCompletionList | undefined> {
    const automatic = context.triggerKind === vscode.InlineCompletionTriggerKind.Automatic;
    // VS Code's own menu goes first: what it has chosen would have to be the suggestion's beginning.
    if (this.why(document) || context.selectedCompletionInfo) {
      return undefined;
    }
    const kept = this.choice.kept(document, position);
    if (kept) {
      const replaced = new vscode.Range(position, position.translate(0, kept.closers.length));
      return this.offer(new vscode.InlineCompletionItem(kept.rest, replaced), kept.item);
    }
    if (automatic) {
      await rest(vscode.workspace.getConfiguration("dlsp", document).get<number>("debounce", 0));
    }
    if (token.isCancellationRequested) {
      return undefined;
    }
    this.status.next({ what: "asked" });
    clearTimeout(this.pause);
    const answer = await next(document, position, context, token);
    if (token.isCancellationRequested || !answer) {
      return undefined;
    }
    const items = Array.isArray(answer) ? answer : answer.items;
    const [first] = items;
    if (!first) {
      if (this.status.state === "ready" || this.status.state === "thinking") {
        this.status.next({ what: "skipped", reason: this.last?.message ?? "", slow: this.last?.skip === "slow" });
        this.event.fire();
      }
      if (this.last?.skip === "typed") {
        this.pause = setTimeout(() => comeBack(document, document.version, position), PAUSE_MS);
      }
      return undefined;
    }
    this.status.next({ what: "answered" });
    const item = raw(first, this.last);
    this.choice.shown(document, position, item);
    return this.offer(first, item);
  }

  /** Give VS Code one suggestion: all of `whole`, or what is left of it. */
  private offer(item: vscode.InlineCompletionItem, whole: Item): vscode.InlineCompletionList {
    item.command ??= { command: ACCEPTED, title: "", arguments: [whole] };
    this.event.fire();
    return new vscode.InlineCompletionList([item]);
  }

  /** Why nothing would be suggested in a document now, in a sentence, before anybody is asked. */
  why(document: vscode.TextDocument): string | undefined {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document === document && editor.selections.length > 1) {
      return "dlsp is quiet while there are several cursors.";
    }
    return this.onOff.off(document) ?? this.other.busy(document);
  }
}

function raw(item: vscode.InlineCompletionItem, answer: Answer | undefined): Item {
  const insertText = typeof item.insertText === "string" ? item.insertText : item.insertText.value;
  return {
    id: answer?.id ?? undefined,
    insertText,
    range: item.range && { start: item.range.start, end: item.range.end },
  };
}

/** Ask again as if by key, if the document and the cursor are still as they were. */
function comeBack(document: vscode.TextDocument, version: number, position: vscode.Position): void {
  const editor = vscode.window.activeTextEditor;
  const here = editor?.document === document && editor.selection.active.isEqual(position);
  if (here && document.version === version) {
    void vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
  }
}

function rest(milliseconds: number): Promise<void> {
  return new Promise((done) => (milliseconds > 0 ? setTimeout(done, milliseconds) : done()));
}
