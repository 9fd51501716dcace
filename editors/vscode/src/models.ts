// Chooses the model, of all that `dlsp model list` names: dlsp's own, and those that the user added.
import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { MISSING, program } from "./find";

interface Listed {
  name: string;
  state: string;
  about: string;
  here: string;
}

interface Choice extends vscode.QuickPickItem {
  name: string | undefined;
}

const AUTO: Choice[] = [
  { label: "auto", description: "the largest that answers fast enough on this machine", name: "auto" },
  { label: "as the project says", description: "else auto", name: undefined },
];

/** Asks for the model, and sets it where it is set now: for the workspace, else for the user. */
export async function chooseModel(): Promise<void> {
  const own = program();
  if (!own) {
    return void vscode.window.showWarningMessage(MISSING);
  }
  let models: Listed[];
  try {
    models = await listed(own);
  } catch (error) {
    return void vscode.window.showErrorMessage(`dlsp: the models cannot be listed: ${String(error)}`);
  }
  const choices = models.map((each) => ({
    label: each.name,
    description: each.state === "here" ? each.about : `${each.about}, ${each.state}`,
    detail: each.here,
    name: each.name,
  }));
  const chosen = await vscode.window.showQuickPick([...choices, ...AUTO], { title: "The model of dlsp" });
  if (chosen) {
    const settings = vscode.workspace.getConfiguration("dlsp");
    const inWorkspace = settings.inspect("model")?.workspaceValue !== undefined;
    const target = inWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
    await settings.update("model", chosen.name, target);
  }
}

function listed(own: string): Promise<Listed[]> {
  return new Promise((resolve, reject) => {
    execFile(own, ["model", "list", "--json"], (error, stdout) =>
      error ? reject(error) : resolve(JSON.parse(stdout)),
    );
  });
}
