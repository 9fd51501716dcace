// What dlsp is doing, in the status bar. A click opens the menu.
import * as vscode from "vscode";
import type { Switch } from "./switch";

export type State = "stopped" | "loading" | "ready" | "thinking" | "quiet" | "error";

/** `didChangeStatus`, as the server sends it. */
export interface ServerStatus {
  busy: boolean;
  kind: "Normal" | "Warning" | "Error" | "Inactive";
  message: string;
}

const ICONS: Record<State | "off", string> = {
  stopped: "$(debug-disconnect)",
  loading: "$(sync~spin)",
  ready: "$(sparkle)",
  thinking: "$(loading~spin)",
  quiet: "$(dash)",
  error: "$(error)",
  off: "$(circle-slash)",
};

export class Status implements vscode.Disposable {
  state: State = "stopped";
  /** What there is to say about it: progress, a reason, what to do. */
  message = "";
  private readonly item = vscode.window.createStatusBarItem("dlsp", vscode.StatusBarAlignment.Right, 100);
  private readonly watches: vscode.Disposable[];
  private readonly event = new vscode.EventEmitter<{ before: State; state: State }>();
  /** Fires when the state is another one. */
  readonly changed = this.event.event;

  constructor(private readonly onOff: Switch) {
    this.item.name = "dlsp";
    this.item.command = "dlsp.menu";
    const draw = () => this.draw();
    this.watches = [onOff.changed(draw), vscode.window.onDidChangeActiveTextEditor(() => this.elsewhere())];
    this.draw();
    this.item.show();
  }

  set(state: State, message = ""): void {
    const before = this.state;
    this.state = state;
    this.message = message;
    this.draw();
    if (before !== state) {
      this.event.fire({ before, state });
    }
  }

  /** What the server says of itself. A reason for quiet stays until something else happens. */
  server({ busy, kind, message }: ServerStatus): void {
    if (kind === "Error" || kind === "Warning") {
      this.set("error", message);
    } else if (busy) {
      this.set(message ? "loading" : "thinking", message);
    } else if (this.state !== "quiet") {
      this.set("ready");
    }
  }

  /** A step of long work, such as loading the model. */
  progress(message: string): void {
    if (this.state === "loading" && message) {
      this.set("loading", message);
    }
  }

  /** A sentence. */
  sentence(): string {
    const off = this.onOff.off(vscode.window.activeTextEditor?.document);
    return off ?? `dlsp: ${this.state}${this.message ? `, ${this.message}` : ""}`;
  }

  /** Another file: a reason for quiet was the last one's. */
  private elsewhere(): void {
    if (this.state === "quiet") {
      this.set("ready");
    } else {
      this.draw();
    }
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.event, ...this.watches).dispose();
  }

  private draw(): void {
    const failed = this.state === "error";
    const off = !failed && this.onOff.off(vscode.window.activeTextEditor?.document) !== undefined;
    this.item.text = `${ICONS[off ? "off" : this.state]} dlsp${this.state === "loading" && !off ? `: ${this.message}` : ""}`;
    this.item.tooltip = failed ? this.message : this.sentence();
    this.item.backgroundColor = failed ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    this.item.accessibilityInformation = { label: failed ? `dlsp: error, ${this.message}` : this.sentence() };
  }
}
