"""What another language server says: one that is made here, as an extension, in a real VS Code."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import Editor
from tests.e2e.vscode.settings import View

FEES = "class Client:\n    url = ''\n\n\ndef total(client: Client):\n    x = 1\n"
CART = """class Cart:
    def __init__(self):
        self.total = 0

    def add(self, fee):
        self.total = self.total + fee


class Bill:
    def total(self):
        return 0


print(begun().total)
print(billed().total)
"""
MANIFEST = {
    "name": "told",
    "publisher": "tests",
    "version": "1.0.0",
    "engines": {"vscode": "^1.80.0"},
    "activationEvents": ["onLanguage:python"],
    "main": "./main.js",
}
# It knows the types once it has been asked twice, as a server that has just been started; and which `total` is the
# cart's. It is for Python, since VS Code would wait for its own hovers of TypeScript.
MAIN = """
const vscode = require("vscode");
const hovers = { provideHover: (document, position) => {
  const name = document.getText(document.getWordRangeAtPosition(position));
  const told = { language: "python", value: `(parameter) ${name}: Client` };
  return asked++ > 1 && name === "client" ? new vscode.Hover(told) : undefined;
} };
const renames = { provideRenameEdits: (document, position, name) => {
  const edit = new vscode.WorkspaceEdit();
  for (const found of document.getText().matchAll(/(?<=(self|begun\\(\\))\\.)total/g)) {
    const [start, end] = [found.index, found.index + found[0].length].map((at) => document.positionAt(at));
    edit.replace(document.uri, new vscode.Range(start, end), name);
  }
  return edit;
} };
let asked = 0;
exports.activate = () => {
  vscode.languages.registerHoverProvider("python", hovers);
  vscode.languages.registerRenameProvider("python", renames);
};
"""
# dlsp's server with types in the context, which it leaves out as it ships.
SERVER = f"#!/bin/sh\nexec {sys.executable} -m bench.replay.serve --without=siblings+diagnostics\n"


@pytest.fixture(scope="module")
def code(programs: tuple[Editor, Path], stub: StubEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Code]:
    stub.reset()
    folder = tmp_path_factory.mktemp("servers")
    project, server, package = folder / "project", folder / "dlsp", folder / "told.vsix"
    project.mkdir()
    server.write_text(SERVER)
    server.chmod(0o755)
    with ZipFile(package, "w") as file:
        file.writestr("extension/package.json", json.dumps(MANIFEST))
        file.writestr("extension/main.js", MAIN)
    view = View(settings={"dlsp.command": str(server)})
    with Code(*programs, folder, project, stub.file.parent, view=view, others=[package]) as code:
        code.open(FEES, "fees.py")
        code.until(lambda: code.status()[0] == "sparkle", "no key will be lost", 120)
        yield code


def test_a_type_that_another_server_tells_is_in_the_prompt(code: Code, stub: StubEngine) -> None:
    code.open(FEES, "fees.py")
    code.go(6, 10)
    code.type("\nclient.")

    def told() -> bool:
        """By a key that comes when the engine was asked after the one before, as a person's does."""
        asked = len(stub.asked)
        code.type("q")
        code.until(lambda: len(stub.asked) > asked, "the engine is asked")
        gap = stub.asked[-1]["gaps"][0]
        return "    # client: Client\n    client.q" in gap["prefix"] + gap.get("middle", "")

    code.until(told, "the model sees the type", 60)
    assert "\n    client.q" in code.text()


def test_a_rename_is_one_to_another_server(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    code.open(CART, "cart.py")
    code.until(lambda: code.status()[0] in ("sparkle", "dash"), "the server runs")
    code.go(3, 14)
    code.press(*["Shift+ArrowRight"] * len("total"))
    code.type("sum")
    code.until(lambda: "2 places: Tab next, Shift+Tab all" in code.after(), "places are shown")
    code.press("Shift+Tab")
    named = CART.replace("self.total", "self.sum").replace("begun().total", "begun().sum")
    code.wait_for_text(named)
