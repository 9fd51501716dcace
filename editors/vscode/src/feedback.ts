// What became of suggestions, told to the server under Copilot's names. The server keeps it on this machine.
//
// VS Code's stable interface tells of a whole accept only (the item's command). A suggestion counts as shown when it
// was answered in time; a word or a line of it as accepted when an edit inserts more than one character of it at once;
// as dismissed when our own command for Esc runs at its place.
import * as vscode from "vscode";

/** An item as the protocol has it. */
export interface Item {
  /** The suggestion's name, as the server gave it. */
  id?: string;
  insertText: string;
  range?: { start: vscode.Position; end: vscode.Position };
}

type Notify = (method: string, params: object) => void;

interface Offered {
  uri: string;
  at: number;
  item: Item;
  stands: number;
}

export class Feedback implements vscode.Disposable {
  private offered: Offered | undefined;
  private readonly watch = vscode.workspace.onDidChangeTextDocument((change) => this.follow(change));

  constructor(private readonly notify: Notify) {}

  /** A suggestion goes to the editor, for this offset of the document, behind which so many characters of it stand. */
  shown(document: vscode.TextDocument, at: number, item: Item, stands = 0): void {
    this.offered = { uri: document.uri.toString(), at, item, stands };
    this.notify("textDocument/didShowCompletion", { item });
  }

  /** All of it was accepted. */
  accepted(item: Item): void {
    this.offered = undefined;
    this.partly(item, item.insertText.length);
  }

  /** What is shown at this offset of the document was dismissed. */
  dismissed(document: vscode.TextDocument, at: number): void {
    const offered = this.offered;
    if (offered && offered.uri === document.uri.toString() && offered.at + offered.stands === at) {
      this.offered = undefined;
      this.notify("textDocument/didDismissCompletion", { item: offered.item });
    }
  }

  dispose(): void {
    this.watch.dispose();
  }

  private partly(item: Item, acceptedLength: number): void {
    this.notify("textDocument/didPartiallyAcceptCompletion", { item, acceptedLength });
  }

  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const offered = this.offered;
    if (!offered || document.uri.toString() !== offered.uri || contentChanges.length === 0) {
      return;
    }
    const [change] = contentChanges;
    const rest = offered.item.insertText.slice(offered.stands);
    const { start, end } = offered.item.range ?? {};
    const along =
      change &&
      contentChanges.length === 1 &&
      change.rangeLength <= (start && end ? end.character - start.character : 0) &&
      change.rangeOffset === offered.at + offered.stands &&
      rest.startsWith(change.text);
    if (!along) {
      this.offered = undefined;
      return;
    }
    offered.stands += change.text.length;
    if (change.text.length > 1 && change.text !== rest) {
      this.partly(offered.item, offered.stands);
    }
  }
}
