// What the other language servers of a document say about a place, for dlsp's server, which asks by `dlsp/askServers`.
import * as vscode from "vscode";
import type { LanguageClient, Position, StaticFeature } from "vscode-languageclient/node";

const LIMIT_MS = 4000; // the answer has what came until then
const MOST_CHARACTERS = 2000;
const MOST_ERRORS = 100;

interface Question {
  textDocument: { uri: string };
  hover?: Position;
  signature?: Position;
  diagnostics?: boolean;
}

interface Answer {
  hover?: string;
  signature?: string;
  diagnostics?: { line: number; message: string }[];
}

/** Says to the server that it may ask. */
const ANNOUNCED: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = { ...capabilities.experimental, askServers: true };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

/** Let the server of this client ask. */
export function answerQuestions(client: LanguageClient): void {
  client.registerFeature(ANNOUNCED);
  client.onRequest("dlsp/askServers", (question: Question) => answer(client, question));
}

async function answer(client: LanguageClient, question: Question): Promise<Answer> {
  const converter = client.protocol2CodeConverter;
  const uri = converter.asUri(question.textDocument.uri);
  const [hover, signature] = await Promise.all([
    question.hover && inTime(hovered(uri, converter.asPosition(question.hover))),
    question.signature && inTime(signed(uri, converter.asPosition(question.signature))),
  ]);
  return {
    ...(hover ? { hover: hover.slice(0, MOST_CHARACTERS) } : {}),
    ...(signature ? { signature: signature.slice(0, MOST_CHARACTERS) } : {}),
    ...(question.diagnostics ? { diagnostics: errors(uri) } : {}),
  };
}

/** What a promise gives, undefined if it fails or takes too long. */
function inTime<T>(given: Promise<T>): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LIMIT_MS));
  return Promise.race([given.catch(() => undefined), late]);
}

async function hovered(uri: vscode.Uri, at: vscode.Position): Promise<string | undefined> {
  const found = await vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", uri, at);
  const texts = found.flatMap((hover) => hover.contents.map(markdown));
  return texts.find((text) => text.trim());
}

function markdown(content: vscode.MarkdownString | vscode.MarkedString): string {
  if (typeof content === "string") {
    return content;
  }
  return "language" in content ? `\`\`\`${content.language}\n${content.value}\n\`\`\`` : content.value;
}

async function signed(uri: vscode.Uri, at: vscode.Position): Promise<string | undefined> {
  const command = "vscode.executeSignatureHelpProvider";
  const help = await vscode.commands.executeCommand<vscode.SignatureHelp | undefined>(command, uri, at);
  return help?.signatures[help.activeSignature]?.label;
}

function errors(uri: vscode.Uri): { line: number; message: string }[] {
  const found = vscode.languages.getDiagnostics(uri);
  return found
    .filter((each) => each.severity === vscode.DiagnosticSeverity.Error)
    .slice(0, MOST_ERRORS)
    .map((each) => ({ line: each.range.start.line, message: each.message.slice(0, MOST_CHARACTERS) }));
}
