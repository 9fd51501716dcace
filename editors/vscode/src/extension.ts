// Where everything is put together.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { askAgain } from "./again";
import { Edits } from "./edits";
import { Feedback, type Item } from "./feedback";
import { Fill } from "./fill";
import { menu, snooze } from "./menu";
import { progressText, Server } from "./server";
import { Status } from "./status";
import { ACCEPTED, Suggest } from "./suggest";
import { Switch } from "./switch";
import { why } from "./why";

const FILL = "dlsp.fill"; // the server's command

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("dlsp", { log: true });
  const onOff = new Switch();
  const status = new Status(onOff);
  const feedback = new Feedback((method, params) => server?.notify(method, params));
  const suggest = new Suggest(onOff, status, feedback);
  const middleware: Middleware = {
    provideInlineCompletionItems: (document, position, asked, token, next) =>
      suggest.provide(document, position, asked, token, next),
    executeCommand: (command, given, next) =>
      command === FILL ? fill.start(new vscode.Position(given[1].line, given[1].character)) : next(command, given),
    handleWorkDoneProgress: (token, params, next) => {
      if (params.kind !== "end") {
        status.progress(progressText(params));
      }
      next(token, params);
    },
  };
  const running = new Server(output, status, middleware, (line) => suggest.note(line));
  const fill = new Fill(running, status);
  const edits = new Edits(running, (document) => onOff.off(document) ?? fill.busy(document));
  suggest.busy = (document) => fill.busy(document);
  server = running;

  const commands: Record<string, (...given: never[]) => unknown> = {
    "dlsp.fillFunction": () => fill.start(),
    "dlsp.dismiss": () => dismiss(feedback),
    "dlsp.keepFill": () => fill.keep(),
    "dlsp.dismissFill": () => fill.dismiss(),
    "dlsp.nextEdit": () => edits.next(),
    "dlsp.goOn": () => edits.goOn(),
    "dlsp.acceptEdits": () => edits.acceptAll(),
    "dlsp.dismissEdits": () => edits.dismiss(),
    "dlsp.toggle": () => onOff.toggle(),
    "dlsp.snoozeSuggestions": () => snooze(onOff),
    "dlsp.why": () => vscode.window.showInformationMessage(why(running, status, suggest)),
    "dlsp.restart": () => running.restart(),
    "dlsp.log": () => output.show(),
    "dlsp.menu": () => menu(status, onOff),
    [ACCEPTED]: (item: Item) => feedback.accepted(item),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  }
  context.subscriptions.push(
    output,
    onOff,
    status,
    feedback,
    fill,
    edits,
    askAgain(status, suggest.answered),
    onOff.changed(() => {
      edits.clear();
      return vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("dlsp.command")) {
        void running.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.client ?? running.start()),
  );
  await running.start();
}

/** Hide the suggestion, and tell that it was sent away. */
async function dismiss(feedback: Feedback): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor) {
    feedback.dismissed(editor.document, editor.document.offsetAt(editor.selection.active));
  }
  await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
