// The language server as VS Code's client sees it: started, started again when it dies, given up when it cannot run.
import type * as vscode from "vscode";
import {
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  LogMessageNotification,
  type Middleware,
  RevealOutputChannelOn,
  ShowMessageNotification,
  State,
} from "vscode-languageclient/node";
import { MISSING, program } from "./find";
import { install, warn } from "./offer";
import { answerQuestions } from "./servers";
import type { ServerStatus, Status } from "./status";

const MOST_DEATHS = 4;
const DEATHS_MS = 3 * 60_000;
const STOP_MS = 2000;
const NO_RUN = "dlsp's server does not run: run `dlsp doctor`, and see the log.";
const NOTHING: Handlers = { middleware: {}, answered: () => undefined };
/** The documents that the server knows. */
export const SELECTOR = [{ scheme: "file" }, { scheme: "untitled" }, { scheme: "vscode-notebook-cell" }];

/** A client that shows no message by itself: this extension says what the user must know, in one sentence. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
  override warn(message: string, data?: unknown): void {
    super.warn(message, data, false);
  }
  override info(message: string, data?: unknown): void {
    super.info(message, data, false);
  }
}

/** What became of a request for a suggestion: `id` names the suggestion; where there is none, `skip` is the reason's code
 * and `message` its sentence. */
export interface Answer {
  id: string | null;
  skip: string | null;
  message: string | null;
}

/** Who sees what goes to and comes from the server. */
export interface Handlers {
  middleware: Middleware;
  /** Called with what became of each request for a suggestion, before it is answered. */
  answered: (answer: Answer) => void;
}

export class Server {
  /** The client while the server runs. */
  client: LanguageClient | undefined;
  private handlers = NOTHING;
  private deaths: number[] = [];
  private begun = false;
  private restarting = Promise.resolve();

  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly status: Status,
  ) {}

  /** Start it, with these handlers from now on. */
  async start(handlers = this.handlers): Promise<void> {
    this.handlers = handlers;
    const command = program();
    if (!command) {
      this.status.next({ what: "failed", message: MISSING });
      void install(MISSING);
      return;
    }
    this.output.info(`starting ${command}`);
    this.status.next({ what: "starting", message: "starting" });
    this.begun = false;
    const options = this.options(() => this.ended(client));
    const client: Client = new Client("dlsp", "dlsp", { command, args: ["serve", "--stdio"] }, options);
    this.listen(client);
    this.client = client;
    try {
      await client.start();
      this.begun = true;
    } catch (error) {
      this.output.error(`the server did not start: ${error}`);
      this.gaveUp(client);
    }
  }

  /** One restart at a time: a second one begins when the first is done. */
  restart(): Promise<void> {
    this.restarting = this.restarting.then(async () => {
      this.deaths = [];
      await this.stop();
      await this.start();
    });
    return this.restarting;
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.status.next({ what: "stopped" });
    try {
      if (client?.state === State.Starting) {
        await client.start(); // the library stops only what has started
      }
      await client?.dispose(STOP_MS);
    } catch (error) {
      this.output.warn(`the server did not end by itself: ${error}`);
    }
  }

  /** Tell the server something, if it is there. */
  notify(method: string, params: object): void {
    if (this.client?.isRunning()) {
      void this.client.sendNotification(method, params).catch(() => undefined);
    }
  }

  private options(closed: () => CloseHandlerResult): LanguageClientOptions {
    return {
      documentSelector: SELECTOR,
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      middleware: this.handlers.middleware,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed,
      },
    };
  }

  private listen(client: LanguageClient): void {
    client.onNotification(LogMessageNotification.type, ({ message }) => {
      this.output.info(message);
    });
    client.onNotification(ShowMessageNotification.type, ({ message }) => void warn(message));
    answerQuestions(client);
    client.onNotification("dlsp/didAnswer", (answer: Answer) => this.handlers.answered(answer));
    client.onNotification("didChangeStatus", (status: ServerStatus) => this.status.next({ what: "server", status }));
  }

  /** The server ended by itself: start it again, unless it never ran or keeps dying. */
  private ended(client: Client): CloseHandlerResult {
    if (this.client !== client) {
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    const now = Date.now();
    this.deaths = [...this.deaths.filter((at) => now - at < DEATHS_MS), now];
    if (!this.begun || this.deaths.length > MOST_DEATHS) {
      this.gaveUp(client);
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    this.output.warn("the server ended; it is started again");
    this.status.next({ what: "starting", message: "starting again" });
    return { action: CloseAction.Restart, handled: true };
  }

  private gaveUp(client: Client): void {
    if (this.client === client && this.status.message !== NO_RUN) {
      this.status.next({ what: "failed", message: NO_RUN });
      void warn(NO_RUN);
    }
  }
}

/** How far long work is, in a few words. */
export function progressText(report: { message?: string; percentage?: number }): string {
  return [report.message, report.percentage === undefined ? undefined : `${report.percentage}%`]
    .filter((part) => part)
    .join(" ");
}
