// Whether suggestions are switched on: everywhere, in this document, at this time.
import * as vscode from "vscode";

const MINUTE_MS = 60_000;

export class Switch implements vscode.Disposable {
  private readonly event = new vscode.EventEmitter<void>();
  /** Fires when it may have been switched. */
  readonly changed = this.event.event;
  private until = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly watch = vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration("dlsp.enabled") || change.affectsConfiguration("dlsp.suggestByLanguage")) {
      this.event.fire();
    }
  });

  /** Why there are no suggestions, in a sentence; undefined where there are. */
  off(document?: vscode.TextDocument): string | undefined {
    const config = vscode.workspace.getConfiguration("dlsp", document);
    if (!config.get<boolean>("enabled", true)) {
      return "dlsp is off: `dlsp: Toggle Suggestions` switches it on.";
    }
    const left = this.until - Date.now();
    if (left > 0) {
      const minutes = Math.ceil(left / MINUTE_MS);
      return `dlsp is snoozed for ${minutes} more minute${minutes === 1 ? "" : "s"}.`;
    }
    const language = document?.languageId;
    if (language && config.get<Record<string, string>>("suggestByLanguage", {})[language] === "off") {
      return `dlsp is off for ${language} files, by the setting dlsp.suggestByLanguage.`;
    }
    return undefined;
  }

  /** On if it was off or snoozed, else off; kept in the settings. */
  async toggle(): Promise<void> {
    const config = vscode.workspace.getConfiguration("dlsp");
    const enabled = config.get<boolean>("enabled", true);
    const on = !enabled || this.until > Date.now();
    this.wake();
    if (on !== enabled) {
      await config.update("enabled", on, config.inspect("enabled")?.workspaceValue === undefined);
    }
    this.event.fire();
  }

  snooze(minutes: number): void {
    this.wake();
    this.until = Date.now() + minutes * MINUTE_MS;
    this.timer = setTimeout(() => this.event.fire(), minutes * MINUTE_MS);
    this.event.fire();
  }

  dispose(): void {
    this.wake();
    this.watch.dispose();
    this.event.dispose();
  }

  private wake(): void {
    this.until = 0;
    clearTimeout(this.timer);
  }
}
