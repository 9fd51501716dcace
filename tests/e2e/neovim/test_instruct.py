"""Changing lines by an instruction, with the real server and a stub for an engine."""

import json

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.texts import proposed

LOOP = ["def total(xs):", "    s = 0", "    for x in xs:", "        s = s + x", "    return s", "", "x = 1"]
SUM = ["def total(xs):", "    return sum(xs)", "", "x = 1"]


def ready(vim: Neovim) -> None:
    vim.until(lambda: vim.lua("return require('dlsp.preview').ready()"), "the change is shown")


def test_the_change_is_shown_first_then_taken(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = proposed("    return sum(xs)")
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", LOOP)
    manners.command("2,5Dlsp instruct use the built-in sum")
    ready(manners)
    assert manners.lines() == LOOP
    assert manners.screen()[:6] == [
        LOOP[0],
        "    s = 0   <Tab> accepts, <Esc> dismisses",
        *LOOP[2:5],
        "    return sum(xs)",
    ]
    assert "use the built-in sum" in json.dumps(stub.requests[-1])
    manners.keys("<Tab>")
    assert manners.lines() == SUM
    manners.keys("u")
    assert manners.lines() == LOOP


def test_it_is_left_and_nothing_has_changed(manners: Neovim, stub: StubEngine) -> None:
    stub.raw = proposed("    return sum(xs)")
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", LOOP)
    manners.keys("2GV3j<Plug>(dlsp-instruct)")
    manners.keys("use sum<CR>")
    ready(manners)
    manners.keys("<Esc>")
    assert manners.lines() == LOOP
    assert manners.screen()[:7] == LOOP
    assert manners.eval("maparg('<Tab>', 'n')") == ""


def test_what_is_going_on_is_said_and_can_be_stopped(manners: Neovim, stub: StubEngine) -> None:
    stub.hold.set()
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", LOOP)
    manners.command("2,5Dlsp instruct use sum")
    stub.wait_for(lambda stub: stub.requests)
    assert manners.screen()[1] == "    s = 0   following the instruction, <Esc> stops it"
    manners.keys("<Esc>")
    stub.wait_for(lambda stub: stub.dropped)
    stub.hold.clear()
    assert manners.screen()[1] == "    s = 0"
