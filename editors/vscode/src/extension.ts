// Where everything is put together.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { askAgain } from "./again";
import { Choice } from "./choice";
import { download } from "./download";
import { Edits } from "./edits";
import { Feedback, type Item } from "./feedback";
import { fill } from "./fill";
import { instruct } from "./instruct";
import { menu, snooze } from "./menu";
import { chooseModel } from "./models";
import { Preview, TAKEN } from "./preview";
import { progressText, Server } from "./server";
import { settings } from "./settings";
import { Status } from "./status";
import { ACCEPTED, Suggest } from "./suggest";
import { Switch } from "./switch";
import { why } from "./why";

const FILL = "dlsp.fill"; // the server's command

let running: Server | undefined; // for `deactivate`

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("dlsp", { log: true });
  const onOff = new Switch();
  const status = new Status(onOff);
  const server = new Server(output, status);
  const feedback = new Feedback((method, params) => server.notify(method, params));
  const preview = new Preview(server, status);
  const choice = new Choice(server, feedback);
  const suggest = new Suggest(onOff, status, choice, preview);
  const edits = new Edits(server, (document) => onOff.off(document) ?? preview.busy(document));
  const middleware: Middleware = {
    provideInlineCompletionItems: (document, position, asked, token, next) =>
      suggest.provide(document, position, asked, token, next),
    executeCommand: (command, given, next) =>
      command === FILL ? fill(preview, server, ranged(given[1], given[2]), given[0]) : next(command, given),
    handleWorkDoneProgress: (token, params, next) => {
      if (params.kind !== "end") {
        status.next({ what: "progress", message: progressText(params) });
      }
      next(token, params);
    },
    workspace: { configuration: settings },
  };
  running = server;

  const commands: Record<string, (...given: never[]) => unknown> = {
    "dlsp.fillFunction": () => fill(preview, server),
    "dlsp.instruct": () => instruct(preview, server),
    "dlsp.acceptPart": () => choice.accept("part"),
    "dlsp.acceptBlock": () => choice.accept("block"),
    "dlsp.nextSuggestion": () => choice.turn(1),
    "dlsp.previousSuggestion": () => choice.turn(-1),
    "dlsp.dismiss": () => dismiss(feedback, choice),
    "dlsp.keepPreview": () => preview.keep(),
    "dlsp.dismissPreview": () => preview.dismiss(),
    "dlsp.nextEdit": () => edits.next(),
    "dlsp.goOn": () => edits.goOn(),
    "dlsp.acceptEdits": () => edits.acceptAll(),
    "dlsp.dismissEdits": () => edits.dismiss(),
    "dlsp.toggle": () => onOff.toggle(),
    "dlsp.snoozeSuggestions": () => snooze(onOff),
    "dlsp.why": () => vscode.window.showInformationMessage(why(server, status, suggest)),
    "dlsp.downloadModel": () => download(server, output),
    "dlsp.chooseModel": () => chooseModel(),
    "dlsp.walkthrough": () => walkthrough(context),
    "dlsp.restart": () => server.restart(),
    "dlsp.log": () => output.show(),
    "dlsp.menu": () => menu(status, onOff),
    [ACCEPTED]: (item: Item) => feedback.accepted(item),
    [TAKEN]: (uri: string, replaced: vscode.Range) => preview.taken(uri, replaced),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  }
  context.subscriptions.push(
    output,
    onOff,
    status,
    feedback,
    preview,
    edits,
    askAgain(status, suggest.answered),
    onOff.changed(() => {
      edits.clear();
      return vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("dlsp.command")) {
        void server.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.client ?? server.start()),
  );
  await server.start({ middleware, answered: (answer) => suggest.told(answer) });
}

/** Hide the suggestion, and tell that it was sent away. */
async function dismiss(feedback: Feedback, choice: Choice): Promise<void> {
  choice.clear();
  const editor = vscode.window.activeTextEditor;
  if (editor) {
    feedback.dismissed(editor.document, editor.document.offsetAt(editor.selection.active));
  }
  await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
}

/** The page with the first steps. */
function walkthrough(context: vscode.ExtensionContext): Thenable<unknown> {
  const page = `${context.extension.id}#dlsp.start`;
  return vscode.commands.executeCommand("workbench.action.openWalkthrough", page, false);
}

/** The range of a code action's arguments. */
function ranged(start: vscode.Position, end = start): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}
