// What the other language servers of a document say about a place or a name, for dlsp's server, which asks by
// `dlsp/askServers`.
import * as vscode from "vscode";
import type { LanguageClient, Position, StaticFeature } from "vscode-languageclient/node";

// The answer has what came until then: next edits wait for what is said of a name, and nobody for the rest.
const CURSOR_MS = 4000;
const NAME_MS = 1300;
const MOST_CHARACTERS = 2000;
const MOST_ERRORS = 100;
const MOST_PLACES = 100; // of one name; of one that has more nothing is said

interface CursorQuestion {
  textDocument: { uri: string };
  hover?: Position;
  signature?: Position;
  diagnostics?: boolean;
}

interface CursorAnswer {
  hover?: string;
  signature?: string;
  diagnostics?: { line: number; message: string }[];
}

interface Place {
  textDocument: { uri: string; version?: number | null };
  position: Position;
}

interface NameQuestion {
  textDocument: { uri: string };
  rename?: Place & { newName: string };
  references: Place[];
}

interface NameAnswer {
  rename?: Place[];
  references: Place[][];
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
  client.onRequest<CursorAnswer | NameAnswer, void>("dlsp/askServers", (question: CursorQuestion | NameQuestion) =>
    "references" in question ? aboutName(client, question) : aboutCursor(client, question),
  );
}

/** What they say about the place at the cursor. */
async function aboutCursor(client: LanguageClient, question: CursorQuestion): Promise<CursorAnswer> {
  const { asUri, asPosition } = client.protocol2CodeConverter;
  const uri = asUri(question.textDocument.uri);
  const [hover, signature] = await Promise.all([
    question.hover && inTime(hovered(uri, asPosition(question.hover)), CURSOR_MS),
    question.signature && inTime(signed(uri, asPosition(question.signature)), CURSOR_MS),
  ]);
  return {
    ...(hover ? { hover: hover.slice(0, MOST_CHARACTERS) } : {}),
    ...(signature ? { signature: signature.slice(0, MOST_CHARACTERS) } : {}),
    ...(question.diagnostics ? { diagnostics: errors(uri) } : {}),
  };
}

/** What they know of a name that was changed. */
async function aboutName(client: LanguageClient, { rename, references }: NameQuestion): Promise<NameAnswer> {
  const { asUri, asPosition } = client.protocol2CodeConverter;
  const asPlace = ({ uri, range }: vscode.Location): Place => ({
    textDocument: { uri: client.code2ProtocolConverter.asUri(uri) },
    position: { line: range.start.line, character: range.start.character },
  });
  const asked = async ({ textDocument, position }: Place, find: typeof referring): Promise<Place[]> => {
    const uri = asUri(textDocument.uri);
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    const stands = open !== undefined && open.version === textDocument.version; // to ask about a file would open it
    const found = stands ? await inTime(find(uri, asPosition(position)), NAME_MS) : undefined;
    return found && found.length <= MOST_PLACES ? found.map(asPlace) : [];
  };
  const [renamed, ...others] = await Promise.all([
    rename && asked(rename, (uri, at) => renaming(uri, at, rename.newName)),
    ...references.map((place) => asked(place, referring)),
  ]);
  return { ...(renamed ? { rename: renamed } : {}), references: others.map((places) => places ?? []) };
}

/** What a promise gives, undefined if it fails or takes too long. */
function inTime<T>(given: Promise<T>, limitMs: number): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), limitMs));
  return Promise.race([given.catch(() => undefined), late]);
}

/** Where the name at a position stands. */
async function referring(uri: vscode.Uri, at: vscode.Position): Promise<vscode.Location[]> {
  return vscode.commands.executeCommand<vscode.Location[]>("vscode.executeReferenceProvider", uri, at);
}

/** Where a rename would write a name. */
async function renaming(uri: vscode.Uri, at: vscode.Position, name: string): Promise<vscode.Location[]> {
  const command = "vscode.executeDocumentRenameProvider";
  const edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit | undefined>(command, uri, at, name);
  const changes = (edit?.entries() ?? []).flatMap(([file, edits]) => edits.map((each) => ({ file, each })));
  return changes
    .filter(({ each }) => each.newText === name)
    .map(({ file, each }) => new vscode.Location(file, each.range));
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
