// What dlsp is doing, in the status bar. A click opens the menu.
import * as vscode from "vscode";
import type { Switch } from "./switch";

export type State = "stopped" | "loading" | "ready" | "thinking" | "quiet" | "busy" | "error";

/** `didChangeStatus`, as the server sends it. */
export interface ServerStatus {
  busy: boolean;
  kind: "Normal" | "Warning" | "Error" | "Inactive";
  message: string;
  /** Where text goes, "" while no engine is connected. */
  destination: string;
}

/** What has happened that the status tells of. */
export type Happening =
  | { what: "starting"; message: string }
  | { what: "stopped" }
  | { what: "failed"; message: string }
  | { what: "server"; status: ServerStatus }
  /** A step of long work, such as loading the model. */
  | { what: "progress"; message: string }
  /** A suggestion is asked for. */
  | { what: "asked" }
  /** There is a suggestion. */
  | { what: "answered" }
  /** There is none, for a reason; `slow`: because the engine was too slow. */
  | { what: "skipped"; reason: string; slow: boolean }
  /** Something that the user asked for is being done, and was done. */
  | { what: "working"; message: string }
  | { what: "worked" }
  /** Another file is looked at. */
  | { what: "elsewhere" };

/** `message` is what there is to say of the state: progress, a reason, what to do. `skip` is why there was no suggestion
 * the last time, "" if there was one. */
export interface Now {
  state: State;
  message: string;
  skip: string;
}

const ICONS: Record<State | "off", string> = {
  stopped: "$(debug-disconnect)",
  loading: "$(sync~spin)",
  ready: "$(sparkle)",
  thinking: "$(loading~spin)",
  quiet: "$(dash)",
  busy: "$(watch)",
  error: "$(error)",
  off: "$(circle-slash)",
};

/** The status after something has happened. */
export function reduce(now: Now, happening: Happening): Now {
  const to = (state: State, message = "", skip = now.skip): Now => ({ state, message, skip });
  switch (happening.what) {
    case "starting":
      return to("loading", happening.message, "");
    case "stopped":
      return to("stopped");
    case "failed":
      return to("error", happening.message);
    case "server":
      return fromServer(now, happening.status);
    case "progress":
      return now.state === "loading" && happening.message ? to("loading", happening.message) : now;
    case "asked":
      return isSilent(now) ? to("ready") : now;
    case "answered":
      return { ...now, skip: "" };
    case "skipped":
      return now.state === "ready" || now.state === "thinking"
        ? to(happening.slow ? "busy" : "quiet", happening.reason, happening.reason)
        : now;
    case "working":
      return to("thinking", happening.message);
    case "worked":
      return now.state === "thinking" ? to("ready") : now; // not where the server has ended and is started again
    case "elsewhere":
      return isSilent(now) ? to("ready", "", "") : { ...now, skip: "" }; // the reason was the last file's
  }
}

function fromServer(now: Now, { busy, kind, message }: ServerStatus): Now {
  if (kind === "Error" || kind === "Warning") {
    return { ...now, state: "error", message };
  }
  if (busy) {
    return { ...now, state: message ? "loading" : "thinking", message };
  }
  return isSilent(now) ? now : { ...now, state: "ready", message: "" };
}

// What the server calls this machine. Any other place where text goes is shown all the time.
const HERE = "this machine";

/** Whether the last request had no suggestion. */
function isSilent(now: Now): boolean {
  return now.state === "quiet" || now.state === "busy";
}

export class Status implements vscode.Disposable {
  private now: Now = { state: "stopped", message: "", skip: "" };
  private destination = "";
  private readonly item = vscode.window.createStatusBarItem("dlsp", vscode.StatusBarAlignment.Right, 100);
  private readonly watches: vscode.Disposable[];
  private readonly event = new vscode.EventEmitter<{ before: State; state: State }>();
  /** Fires when the state is another one. */
  readonly changed = this.event.event;

  constructor(private readonly onOff: Switch) {
    this.item.name = "dlsp";
    this.item.command = "dlsp.menu";
    this.watches = [
      onOff.changed(() => this.draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.next({ what: "elsewhere" })),
    ];
    this.draw();
    this.item.show();
  }

  get state(): State {
    return this.now.state;
  }

  get message(): string {
    return this.now.message;
  }

  /** Why there was no suggestion the last time, "" if there was one or none was asked for. */
  get skip(): string {
    return this.now.skip;
  }

  next(happening: Happening): void {
    const before = this.now;
    this.now = reduce(before, happening);
    if (happening.what === "server") {
      this.destination = happening.status.destination;
    } else if (happening.what === "stopped" || happening.what === "failed") {
      this.destination = "";
    }
    this.draw();
    if (before.state !== this.now.state) {
      this.event.fire({ before: before.state, state: this.now.state });
    }
  }

  /** A sentence. */
  sentence(): string {
    const { state, message, skip } = this.now;
    const off = this.onOff.off(vscode.window.activeTextEditor?.document);
    if (off) {
      return off;
    }
    const last = state === "ready" && skip ? `. No suggestion the last time: ${skip}` : "";
    return `dlsp: ${state}${message ? `, ${message}` : ""}${last}`;
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.event, ...this.watches).dispose();
  }

  private draw(): void {
    const { state, message } = this.now;
    const failed = state === "error";
    const off = !failed && this.onOff.off(vscode.window.activeTextEditor?.document) !== undefined;
    const more = state === "loading" ? `: ${message}` : state === "busy" ? ": busy" : "";
    const elsewhere = this.destination && this.destination !== HERE ? ` → ${this.destination}` : "";
    this.item.text = `${ICONS[off ? "off" : state]} dlsp${off ? "" : elsewhere + more}`;
    const goes = this.destination && !off ? `\nText goes to ${this.destination}.` : "";
    this.item.tooltip = failed ? message : this.sentence() + goes;
    this.item.backgroundColor = failed ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    this.item.accessibilityInformation = { label: failed ? `dlsp: error, ${message}` : this.sentence() };
  }
}
