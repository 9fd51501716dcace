"""Filling a function, with the real server and a stub for an engine: preview, accept, dismiss, code action."""

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.texts import ADD, ADDED, CANVAS, DONE, FILLED, bodies, events


def asked(vim: Neovim, stub: StubEngine, keys: str = "gg<Plug>(dlsp-fill)") -> None:
    vim.keys("i" + ADD.replace("\n    ...", "<CR>...").replace("\n", "<CR>") + "<Esc>")
    vim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", ADD.splitlines())
    vim.keys(keys)


def test_the_canvas_comes_into_focus_and_is_accepted(manners: Neovim, stub: StubEngine) -> None:
    manners.lua(
        """
        Seen = {}
        local partial = require('dlsp.client').partial
        setmetatable(partial, { __newindex = function(t, token, call)
          rawset(t, token, function(value)
            call(value)
            local mark = vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true, type = 'virt_lines' })[1]
            table.insert(Seen, mark and mark[4].virt_lines or false)
          end)
        end })
        """
    )
    stub.raw = events(CANVAS, FILLED, DONE)
    asked(manners, stub)
    manners.until(lambda: manners.lua("return require('dlsp.preview').ready()"), "the function is shown")
    focus = [["    return a", "DlspFill"], [" + b", "DlspCanvas"], ["░", "DlspMask"], ["░", "DlspMask"]]
    assert manners.lua("return Seen") == [[focus]]
    hint = "   <Tab> accepts, <Esc> dismisses"
    assert manners.screen()[:5] == ["def add(a, b):" + hint, "    ...", "    return a + b", "", ""]
    assert manners.lines() == ADD.splitlines()
    manners.keys("<Tab>")
    assert manners.lines() == ADDED.splitlines()
    assert manners.screen()[:5] == ADDED.splitlines()
    manners.keys("u")
    assert manners.lines() == ADD.splitlines()
    gap = bodies(stub)[-1]["gaps"][0]
    assert (gap["prefix"], gap["suffix"]) == ("def add(a, b):\n    ", "")
    assert manners.eval("maparg('<Tab>', 'n')") == ""


def test_dismiss(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = events(CANVAS, FILLED, DONE)
    asked(manners, stub)
    manners.until(lambda: manners.lua("return require('dlsp.preview').ready()"), "the function is shown")
    manners.keys("<Esc>")
    assert manners.screen()[:5] == ADD.splitlines()
    assert manners.lines() == ADD.splitlines()


def test_dismiss_while_it_runs_and_an_edit_cancel_the_request(manners: Neovim, stub: StubEngine) -> None:
    for keys in ("<Esc>", "Go<Esc>", ":enew!<CR>"):
        stub.dropped.clear()
        stub.hold.set()
        asked(manners, stub)
        stub.wait_for(lambda stub: bodies(stub))
        manners.keys(keys)
        stub.wait_for(lambda stub: any(each.get("end") == "body" for each in stub.dropped))
        stub.hold.clear()
        stub.requests.clear()


def test_a_place_without_a_function_says_so(manners: Neovim, stub: StubEngine) -> None:
    asked(manners, stub, "G:Dlsp fill<CR>")
    manners.until(lambda: "without a body" in "".join(manners.drawn.lines()), "there is a message")
    assert manners.lines() == ADD.splitlines()
    assert manners.eval("maparg('<Tab>', 'n')") == ""


def test_the_code_action_previews_too(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = events(CANVAS, FILLED, DONE)
    asked(manners, stub, "gg")
    manners.lua("vim.lsp.buf.code_action({ apply = true })")
    manners.until(lambda: manners.lua("return require('dlsp.preview').ready()"), "the function is shown")
    manners.keys("<Tab>")
    assert manners.lines() == ADDED.splitlines()


def test_the_command_of_a_plain_client_edits_the_document(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = events(FILLED, DONE)
    asked(manners, stub, "gg")
    manners.lua(
        """
        local params = { command = 'dlsp.fill', arguments = { vim.uri_from_bufnr(0), { line = 0, character = 0 } } }
        vim.lsp.buf_request(0, 'workspace/executeCommand', params, function(err) Failed = err end)
        """
    )
    manners.until(lambda: manners.lines() == ADDED.splitlines(), "the function is in the buffer")
    manners.keys("u")
    assert manners.lines() == ADD.splitlines()
    assert manners.lua("return Failed") is None


def test_a_change_that_nobody_typed_ends_it(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = events(CANVAS, FILLED, DONE)
    asked(manners, stub)
    manners.until(lambda: manners.lua("return require('dlsp.preview').ready()"), "the function is shown")
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# 1', '# 2' }); require('dlsp').accept('all')")
    assert manners.lines() == ["# 1", "# 2", *ADD.splitlines()]


def test_typing_goes_on_behind_it(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = events(CANVAS, FILLED, DONE)
    asked(manners, stub, "ggA<Plug>(dlsp-fill)")
    manners.until(lambda: manners.lua("return require('dlsp.preview').ready()"), "the function is shown")
    manners.keys("<Tab>")
    manners.type("  # so")
    assert manners.lines()[1] == "    return a + b  # so"


def test_a_server_that_ends_meanwhile_gives_the_keys_back(manners: Neovim, stub: StubEngine) -> None:
    stub.hold.set()
    asked(manners, stub)
    stub.wait_for(lambda stub: bodies(stub))
    manners.command("Dlsp restart")
    manners.until(lambda: "The server is shutting down." in manners.messages(), "it is said")
    assert manners.eval("maparg('<Esc>', 'n')") == ""
    stub.hold.clear()
    manners.wait_for_server()


LONG = "def total(xs):\n    s = 0\n    for x in xs:\n        s = s + x\n    return s\n\n\nx = 1\n"
SUM = "    return sum(xs)\n"
SUMMED = "def total(xs):\n    return sum(xs)\n\n\nx = 1\n"
WRITTEN = {**FILLED, "text": SUM.removeprefix("    ")}


@pytest.mark.parametrize("how", ["action", "command"])
def test_selected_lines_are_written_anew(manners: Neovim, stub: StubEngine, how: str) -> None:
    stub.raw = events(WRITTEN, DONE)
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", LONG.splitlines())
    if how == "command":
        manners.command("2,5Dlsp fill")
    else:
        manners.keys("<Esc>2GV3j")
        manners.lua("vim.lsp.buf.code_action({ apply = true })")
    manners.until(lambda: manners.lua("return require('dlsp.preview').ready()"), "the lines are shown")
    assert manners.screen()[5:8] == ["    return sum(xs)", "", ""]
    manners.keys("<Esc>" if how == "action" else "")  # leaves visual mode
    manners.keys("<Tab>")
    assert manners.lines() == SUMMED.splitlines()
    manners.keys("u")
    assert manners.lines() == LONG.splitlines()
