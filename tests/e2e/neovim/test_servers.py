"""What other language servers say about a place: one that is real, and ones that are made here, in real Neovims."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.neovim.neovim import Neovim

PYRIGHT = Path(sys.executable).parent / "pyright-langserver"
FEES = "class Client:\n    url = ''\n\n\ndef total(client: Client):\n    x = 1\n"

START = """
local name, command = ...
vim.lsp.start({ name = name, cmd = { command, '--stdio' }, root_dir = vim.fs.dirname(vim.api.nvim_buf_get_name(0)) })
"""
READY = """
if #vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/hover' }) == 0 then return false end
local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 4, character = 10 } }
for _, answer in pairs(vim.lsp.buf_request_sync(0, 'textDocument/hover', params, 20000) or {}) do
  if answer.result then return true end
end
"""

# A server in Neovim itself: it answers methods with what is given, and others never. `Asked` has what it was asked;
# `Cancelled`: an answer is not waited for any more.
MADE = """
local name, encoding, answers = ...
Asked = Asked or {}
local provides = { hoverProvider = true, signatureHelpProvider = {}, referencesProvider = true, renameProvider = true }
provides.codeActionProvider = true
provides.positionEncoding = encoding
vim.lsp.start({
  name = name,
  cmd = function(dispatchers)
    return {
      request = function(method, params, callback)
        callback = vim.schedule_wrap(callback)
        if method == 'initialize' then
          callback(nil, { capabilities = provides })
        elseif answers[method] then
          Asked[name] = params
          callback(nil, answers[method])
        end
        return true, 1
      end,
      notify = function(method)
        Cancelled = Cancelled or method == '$/cancelRequest'
        return true
      end,
      is_closing = function() return false end,
      terminate = function() dispatchers.on_exit(0, 0) end,
    }
  end,
})
"""
ASK = """
local question = ...
question.textDocument = { uri = vim.uri_from_bufnr(0) }
Answer = nil
local id = require('dlsp.client').of(0).id
coroutine.wrap(function() Answer = require('dlsp.servers').answer(question, id) end)()
"""
END = """
Asked, Cancelled = nil, nil
for _, client in ipairs(vim.lsp.get_clients()) do
  if client.name ~= 'dlsp' then vim.lsp.stop_client(client.id, true) end
end
"""


@pytest.fixture
def vim(manners: Neovim) -> Iterator[Neovim]:
    """Afterwards no other server is left."""
    yield manners
    manners.lua(END)
    manners.until(lambda: manners.lua("return #vim.lsp.get_clients()") == 1, "the other servers have ended")


def make(vim: Neovim, name: str, encoding: str, answers: dict[str, Any]) -> None:
    vim.lua(MADE, name, encoding, answers)
    attached = f"return #vim.lsp.get_clients({{ bufnr = 0, name = '{name}', method = 'textDocument/hover' }}) == 1"
    vim.until(lambda: vim.lua(attached), "the server is attached")


def answer(vim: Neovim, question: dict[str, Any]) -> dict[str, Any]:
    vim.lua(ASK, question)
    vim.until(lambda: vim.lua("return Answer ~= nil"), "it is answered")
    return vim.lua("return Answer")


def test_the_type_that_a_real_server_tells(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", FEES)
    vim.lua(START, "pyright", str(PYRIGHT))
    vim.until(lambda: vim.lua(READY), "pyright knows the file", 90)
    assert "client: Client" in answer(vim, {"hover": {"line": 4, "character": 10}})["hover"]


def test_each_server_is_asked_in_its_own_units(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", "x = '😀' + client.\n")
    for name, encoding in [("one", "utf-16"), ("two", "utf-32")]:
        hover = {"contents": {"kind": "markdown", "value": f"client: {name}"}}
        make(vim, name, encoding, {"textDocument/hover": hover})
    mine = vim.lua("return require('dlsp.client').of(0).offset_encoding")
    found = answer(vim, {"hover": {"line": 0, "character": {"utf-8": 13, "utf-16": 11}[mine]}})
    assert found["hover"] in ("client: one", "client: two")
    assert set(found) == {"hover"}
    columns = {name: vim.lua(f"return Asked.{name}.position.character") for name in ("one", "two")}
    assert columns == {"one": 11, "two": 10}


def test_signatures_and_errors(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", "fee(\n")
    signatures = [{"label": "fee()"}, {"label": "fee(price: int)"}]
    help = {"signatures": signatures, "activeSignature": 1}
    make(vim, "one", "utf-16", {"textDocument/signatureHelp": help})
    vim.lua(
        """
        local severity = vim.diagnostic.severity
        vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0, {
          { lnum = 0, col = 0, message = '"fee" is not defined', severity = severity.ERROR },
          { lnum = 0, col = 0, message = 'a hint', severity = severity.HINT },
        })
        """
    )
    assert answer(vim, {"signature": {"line": 0, "character": 4}, "diagnostics": True}) == {
        "signature": "fee(price: int)",
        "diagnostics": [{"line": 0, "character": 0, "message": '"fee" is not defined'}],
    }


def test_the_quick_fix_that_a_server_prefers_in_its_own_units(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", "x = '😀' + fea(1)\nfea(2)\n")
    uri = vim.lua("return vim.uri_from_bufnr(0)")

    def action(new: str, **more: Any) -> dict[str, Any]:
        span = {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 13}}
        return {"title": new, "edit": {"changes": {uri: [{"range": span, "newText": new}]}}, **more}

    actions = [action("fee", isPreferred=True), action("few"), {"title": "more", "command": "more"}]
    make(vim, "one", "utf-32", {"textDocument/codeAction": actions})
    vim.lua(
        """
        local severity = vim.diagnostic.severity.ERROR
        vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0, {
          { lnum = 0, col = 13, end_col = 16, message = 'no fea', code = 7, severity = severity },
          { lnum = 1, col = 0, end_col = 3, message = 'no fea', severity = severity },
        })
        """
    )
    mine = vim.lua("return require('dlsp.client').of(0).offset_encoding")
    column = {"utf-8": 13, "utf-16": 11}[mine]
    lines = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    span = {"start": {"line": 0, "character": column}, "end": {"line": 0, "character": column + 3}}
    first, second = answer(vim, {"diagnostics": True, "fixes": lines})["diagnostics"]
    assert first == {
        "line": 0,
        "character": column,
        "message": "no fea",
        "edits": [{"range": span, "newText": "fee"}],
    }
    assert second == {"line": 1, "character": 0, "message": "no fea"}
    (asked,) = vim.lua("return Asked.one.context.diagnostics")
    assert (asked["range"]["start"]["character"], asked["message"], asked["code"]) == (10, "no fea", 7)


@pytest.mark.parametrize(
    "actions",
    [
        [{"title": "one", "edit": {"changes": {}}}],
        [{"title": "one", "isPreferred": True, "edit": {"changes": {"file:///other.py": []}}}],
        [{"title": "one", "isPreferred": True, "edit": {"documentChanges": [{"kind": "create", "uri": "file:///a"}]}}],
        [{"title": "one", "command": "one", "isPreferred": True}],
    ],
    ids=["not preferred", "another file", "a new file", "a command"],
)
def test_other_actions_are_no_fixes(vim: Neovim, folder: Path, actions: list[dict[str, Any]]) -> None:
    vim.open(folder / "fees.py", "fea(1)\n")
    make(vim, "one", "utf-32", {"textDocument/codeAction": actions})
    vim.lua(
        """
        local error = { lnum = 0, col = 0, message = 'no fea', severity = vim.diagnostic.severity.ERROR }
        vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0, { error })
        """
    )
    lines = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    (found,) = answer(vim, {"diagnostics": True, "fixes": lines})["diagnostics"]
    assert "edits" not in found


def test_one_that_does_not_answer_is_not_waited_for(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", "fee(\n")
    make(vim, "silent", "utf-16", {})
    make(vim, "empty", "utf-16", {"textDocument/hover": {"contents": []}})
    assert answer(vim, {"hover": {"line": 0, "character": 0}, "signature": {"line": 0, "character": 4}}) == {}


def test_without_other_servers_there_is_nothing_to_say(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", "fee(\n")
    assert answer(vim, {"hover": {"line": 0, "character": 0}}) == {}


CART = """class Cart:
    def __init__(self):
        self.total = 0

    def add(self, fee):
        self.total = self.total + fee


def begun():
    return Cart()
"""
SHOWN = """from cart import begun
from bill import billed

print(begun().total)
print(billed().total)
"""
BILL = """class Bill:
    def total(self):
        return 0


def billed():
    return Bill()
"""


def test_a_rename_is_one_to_a_real_server(vim: Neovim, folder: Path) -> None:
    """An attribute is set in two methods, and read in a file that is not open, beside a method of that name."""
    (folder / "shown.py").write_text(SHOWN)
    (folder / "bill.py").write_text(BILL)
    vim.open(folder / "cart.py", CART)
    vim.lua(START, "pyright", str(PYRIGHT))
    vim.until(lambda: vim.lua(READY), "pyright knows the file", 90)
    warm = {"rename": {**place(vim, 2, 13), "newName": "sum"}, "references": []}
    vim.until(lambda: len(answer(vim, warm).get("rename", [])) == 4, "pyright is fast enough to answer", 90)
    vim.keys(":call cursor(3, 14)<CR>cwsum<Esc>")
    vim.until(lambda: vim.lua("return require('dlsp.edits').visible()"), "places are shown")
    vim.keys("<S-Tab>1<CR>")
    assert "\n".join(vim.lines()) + "\n" == CART.replace("total", "sum")
    vim.command(f"edit {folder / 'shown.py'}")
    assert "\n".join(vim.lines()) + "\n" == SHOWN.replace("begun().total", "begun().sum")
    vim.command("edit!")


FREED = """class Lock:
    def release(self): ...


class Loader:
    def free(self): ...


def use(thing: Loader, lock: Lock):
    thing.release()
    lock.release()
"""


def place(vim: Neovim, line: int, character: int) -> dict[str, Any]:
    document = {"uri": vim.lua("return vim.uri_from_bufnr(0)"), "version": None}
    return {"textDocument": document, "position": {"line": line, "character": character}}


def test_what_a_real_server_still_knows_after_a_rename(vim: Neovim, folder: Path) -> None:
    """Nothing of what has another name now; the place itself and more of what was not renamed."""
    vim.open(folder / "loader.py", FREED)
    vim.lua(START, "pyright", str(PYRIGHT))
    vim.until(lambda: vim.lua(READY), "pyright knows the file", 90)
    asked = [place(vim, 9, 10), place(vim, 10, 9)]
    renamed, other = vim.until(lambda: known(vim, asked), "pyright is fast enough to answer", 90)
    assert renamed == []
    assert [each["position"] for each in other] == [{"line": 1, "character": 8}, asked[1]["position"]]


def known(vim: Neovim, asked: list[dict[str, Any]]) -> Any:
    """The references that a server finds of each place, if there are any."""
    found = answer(vim, {"references": asked})["references"]
    return found if any(found) else None


def test_a_rename_in_the_units_of_each_server(vim: Neovim, folder: Path) -> None:
    """What is written besides the name is none of it."""
    vim.open(folder / "fees.py", "'😀'; fee = 1\n")
    span = {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 8}}
    uri = vim.lua("return vim.uri_from_bufnr(0)")
    edits = [{"range": span, "newText": "cost"}, {"range": span, "newText": "fee as cost"}]
    make(vim, "one", "utf-32", {"textDocument/rename": {"changes": {uri: edits}}})
    mine = vim.lua("return require('dlsp.client').of(0).offset_encoding")
    at = place(vim, 0, {"utf-8": 8, "utf-16": 6}[mine])
    found = answer(vim, {"rename": {**at, "newName": "cost"}, "references": [at]})
    assert vim.lua("return Asked.one") == {"textDocument": {"uri": uri}, "position": span["start"], "newName": "cost"}
    assert found == {"rename": [{"textDocument": {"uri": uri}, "position": at["position"]}], "references": [[]]}


def test_the_next_change_ends_the_question(vim: Neovim, folder: Path) -> None:
    vim.open(folder / "fees.py", "fee = 1\n")
    make(vim, "silent", "utf-16", {})
    vim.lua(ASK, {"references": [place(vim, 0, 0)]})
    vim.keys("x")
    vim.until(lambda: vim.lua("return Answer ~= nil and Cancelled"), "the server is left alone")
    assert vim.lua("return Answer") == {"references": [[]]}
