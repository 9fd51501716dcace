// The menu behind the status bar item.
import * as vscode from "vscode";
import { named, remedy } from "./offer";
import type { Status } from "./status";
import type { Switch } from "./switch";

const MINUTES = [5, 30, 60];

interface Entry extends vscode.QuickPickItem {
  run: () => unknown;
}

export async function menu(status: Status, onOff: Switch): Promise<void> {
  const call = (command: string, ...given: unknown[]) => vscode.commands.executeCommand(command, ...given);
  const off = onOff.off(vscode.window.activeTextEditor?.document) !== undefined;
  const command = status.state === "error" ? named(status.message) : undefined;
  const entries: Entry[] = [
    { label: off ? "$(play) Switch On" : "$(circle-slash) Switch Off", run: () => call("dlsp.toggle") },
    { label: "$(watch) Snooze …", run: () => call("dlsp.snoozeSuggestions") },
    { label: "$(sparkle) Fill Function", run: () => call("dlsp.fillFunction") },
    { label: "$(edit) Instruct …", run: () => call("dlsp.instruct") },
    { label: "$(question) Why Nothing?", run: () => call("dlsp.why") },
    { label: "$(list-selection) Choose the Model …", run: () => call("dlsp.chooseModel") },
    { label: "$(output) Show Log", run: () => call("dlsp.log") },
    { label: "$(refresh) Restart", run: () => call("dlsp.restart") },
    { label: "$(gear) Settings", run: () => call("workbench.action.openSettings", "dlsp.") },
  ];
  if (command) {
    const { label, icon, run } = remedy(command);
    entries.unshift({ label: `$(${icon}) ${label}`, description: command, run });
  }
  const chosen = await vscode.window.showQuickPick(entries, { title: status.sentence() });
  await chosen?.run();
}

/** Ask for how long. */
export async function snooze(onOff: Switch): Promise<void> {
  const choices = MINUTES.map((minutes) => ({ label: `${minutes} minutes`, minutes }));
  const chosen = await vscode.window.showQuickPick(choices, { title: "Snooze dlsp for" });
  if (chosen) {
    onOff.snooze(chosen.minutes);
  }
}
