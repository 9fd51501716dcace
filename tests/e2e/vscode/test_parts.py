"""The extension's parts by themselves, in Node. A stand-in for VS Code's interface notes what they ask it to do."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.provide import LIMIT_S, Missing
from tests.e2e.vscode.node import Node
from tests.e2e.vscode.provide import EXTENSION

Part = Callable[[str, str], Any]

# `calls` are the calls that cost VS Code work; `fire(name)` fires an event of the workspace's or the window's. Whatever
# else is asked for is an empty class.
STANDIN = """
const calls = [], events = {};
const watched = new Proxy({}, {
  get: (_, name) => (handler) => { (events[name] ??= []).push(handler); return { dispose() {} }; },
});
class Emitter {
  handlers = []; event = (it) => { this.handlers.push(it); };
  fire(it) { this.handlers.forEach((handler) => handler(it)); }
}
class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
  compareTo() { return 0; }
}
class Range {
  constructor(start, end) { Object.assign(this, { start, end }); }
  get isEmpty() { return false; }
  contains() { return false; }
}
const document = {
  uri: "file:///fees.py", version: 1, lineCount: 2,
  lineAt: () => ({ text: "late_fee(3)", range: new Range(new Position(0, 0), new Position(0, 11)) }),
  getText: () => "late_fee",
};
const editor = {
  document, selection: { active: new Position(0, 3) }, selections: [1],
  setDecorations: () => calls.push("setDecorations"), visibleRanges: [{ contains: () => true }],
};
const window = Object.setPrototypeOf({
  activeTextEditor: editor, visibleTextEditors: [editor, editor],
  createTextEditorDecorationType: () => ({ dispose() {} }),
  createStatusBarItem: () => ({ show() {}, dispose() {} }),
}, watched);
const workspace = Object.setPrototypeOf({
  getConfiguration: () => ({ get: () => false }), asRelativePath: (it) => it,
}, watched);
const commands = { executeCommand: (name, ...given) => { calls.push([name, ...given].join(" ")); } };
class Cancel { token = {}; cancel() {} }
module.exports = Object.setPrototypeOf({
  window, workspace, commands, Position, Range, EventEmitter: Emitter, CancellationTokenSource: Cancel,
  Uri: { parse: (it) => it }, Disposable: { from: () => ({ dispose() {} }) }, document,
  calls: () => calls.splice(0), fire: (name, it) => (events[name] ?? []).forEach((handler) => handler(it)),
}, new Proxy({}, { get: (_, name) => typeof name === "string" && name !== "then" ? class {} : undefined }));
"""
KEYS = ("edits", "editKeys", "canGoOn")
TYPED = 'vscode.fire("onDidChangeTextDocument", { document: vscode.document, contentChanges: [1] });'
MOVED = 'vscode.fire("onDidChangeTextEditorSelection", {});'


@pytest.fixture(scope="module")
def node() -> Node:
    try:
        node = Node()
        node.install(EXTENSION)
    except Missing as why:
        pytest.skip(f"NOT RUN: no packages for the extension here. {why}")
    return node


@pytest.fixture
def part(node: Node, tmp_path: Path) -> Part:
    """Bundles a source of the extension, runs code with it as `part` and the stand-in as `vscode`, and returns what the
    code returns."""

    def run(source: str, code: str) -> Any:
        deadline = time.monotonic() + LIMIT_S
        stand_in = tmp_path / "node_modules" / "vscode" / "index.js"
        stand_in.parent.mkdir(parents=True)
        stand_in.write_text(STANDIN)
        bundle = ("--bundle", "--platform=node", "--format=cjs", "--external:vscode", f"--outfile={tmp_path}/part.js")
        node.run(EXTENSION / "node_modules/.bin/esbuild", f"src/{source}", *bundle, folder=EXTENSION, deadline=deadline)
        (tmp_path / "run.js").write_text(
            'const vscode = require("vscode"), part = require("./part.js");\n'
            f"(async () => {{\n{code}\n}})().then((it) => console.log('RESULT ' + JSON.stringify(it)));\n"
        )
        return json.loads(node.run("node", "run.js", folder=tmp_path, deadline=deadline).partition("RESULT ")[2])

    return run


EDITS = """
    const site = {
      id: "1", textDocument: { uri: "file:///fees.py", version: 1 }, oldText: "late_fee", newText: "fee", certain: true,
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 8 } },
    };
    const client = {
      isRunning: () => true, sendRequest: async () => ({ edit: null, sites: [site] }),
      code2ProtocolConverter: { asUri: (it) => it }, protocol2CodeConverter: { asUri: (it) => it },
    };
    const edits = new part.Edits({ client, notify() {} }, () => undefined);
"""


def test_a_key_costs_nothing_while_no_place_is_shown(part: Part) -> None:
    """Once VS Code knows that there are none: no decoration is set, no context key either."""
    code = f"{EDITS} {MOVED} const first = vscode.calls(); for (let n = 0; n < 5; n++) {{ {TYPED} {MOVED} }}"
    first, then = part("edits.ts", f"{code} return [first, vscode.calls()];")
    assert first == [f"setContext dlsp.{key} false" for key in KEYS]
    assert then == []


def test_places_are_drawn_once_and_taken_away_once(part: Part) -> None:
    code = f"""{EDITS} {MOVED} vscode.calls();
        await edits.ask();
        const shown = vscode.calls();
        {MOVED} {MOVED}
        const moved = vscode.calls();
        {TYPED} {TYPED} {MOVED}
        return [shown, moved, vscode.calls()];
    """
    shown, moved, gone = part("edits.ts", code)
    drawn = ["setDecorations"] * 8  # four kinds in each of two editors
    assert shown == [*(f"setContext dlsp.{key} true" for key in KEYS), *drawn]
    assert moved == []
    assert gone == [*drawn, *(f"setContext dlsp.{key} false" for key in KEYS)]


@pytest.mark.parametrize(
    ("happenings", "state"),
    [
        ("{ what: 'starting', message: 'starting' }", "loading"),
        ("{ what: 'server', status: { busy: true, kind: 'Normal', message: 'reading the model' } }", "loading"),
        ("{ what: 'server', status: { busy: true, kind: 'Normal', message: '' } }", "thinking"),
        ("{ what: 'server', status: { busy: false, kind: 'Error', message: 'gone' } }", "error"),
        ("{ what: 'skipped', reason: 'a comment' }", "quiet"),
        ("{ what: 'skipped', reason: 'a comment' }, { what: 'asked' }", "ready"),
        ("{ what: 'skipped', reason: 'a comment' }, { what: 'elsewhere' }", "ready"),
        ("{ what: 'working', message: 'filling' }, { what: 'worked' }", "ready"),
        # What a feature ends with is no news of a server that has ended meanwhile.
        ("{ what: 'working', message: 'filling' }, { what: 'failed', message: 'gone' }, { what: 'worked' }", "error"),
        ("{ what: 'stopped' }, { what: 'skipped', reason: 'a comment' }", "stopped"),
    ],
)
def test_the_status_follows_from_what_happened(part: Part, happenings: str, state: str) -> None:
    code = f"""
        const server = {{ what: "server", status: {{ busy: false, kind: "Normal", message: "" }} }};
        const from = {{ state: "stopped", message: "", skip: "" }};
        return [server, {happenings}].reduce(part.reduce, from).state;
    """
    assert part("status.ts", code) == state


@pytest.mark.parametrize(
    ("text", "which", "first"),
    [
        ("parseHTTPResponse(x)", "part", ["parse", "HTTP", "Response", "(", "x", ")"]),
        ("max_length = 10", "part", ["max", "_length", " =", " 10"]),
        ("__init__", "part", ["__init", "__"]),
        ("naïveÉtat2", "part", ["naïve", "État", "2"]),
        ("文字列 = 1", "part", ["文字列", " =", " 1"]),
        ("\n    if done:", "part", ["\n    if", " done", ":"]),
        ("a\n  b\n\nc\n \nd", "block", ["a\n  b", "\n\nc", "\n \nd"]),
        ("\n\na\nb", "block", ["\n\na\nb"]),
    ],
)
def test_the_parts_of_a_suggestion(part: Part, text: str, which: str, first: list[str]) -> None:
    code = f"""
        const parts = [];
        for (let rest = {json.dumps(text)}; rest; rest = rest.slice(parts.at(-1).length)) {{
          parts.push(part.first(rest, {json.dumps(which)}));
        }}
        return parts;
    """
    assert part("parts.ts", code) == first
