"""How the plugin behaves among an editor's other habits: real Neovims and the real server, a stub for an engine."""

from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.texts import asked


def quiet(vim: Neovim) -> bool:
    """Whether no suggestion comes, now that one would have."""
    vim.settle()
    return vim.ghost() is None


def test_ghost_text_and_tab(manners: Neovim) -> None:
    manners.keys("ireturn ")
    assert manners.wait_for_ghost() == "a + b"
    assert manners.screen()[0] == "return a + b"
    assert manners.lines() == ["return "]
    manners.keys("<Tab>")
    assert manners.lines() == ["return a + b"]
    assert manners.cursor() == [1, 12]


def test_tab_is_tab_without_a_suggestion(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    manners.keys("ix<Tab>y")
    assert manners.lines() == ["x   y"]


def test_words_and_lines(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "total = sum(each)\n    naïve(total)\n    return total"
    manners.keys("idef f():<CR>")
    manners.wait_for_ghost()
    manners.keys("<M-Right>")
    assert manners.lines()[1] == "    total"
    manners.keys("<M-Right><M-Right><M-Right>")
    assert manners.lines()[1] == "    total = sum("
    assert manners.ghost() == "each)\n    naïve(total)\n    return total"
    manners.keys("<M-C-Right>")
    assert manners.lines()[1:] == ["    total = sum(each)"]
    manners.keys("<M-Right>")
    assert manners.lines()[1:] == ["    total = sum(each)", "    naïve"]
    manners.keys("<M-C-Right><M-C-Right>")
    whole = ["    total = sum(each)", "    naïve(total)", "    return total"]
    assert manners.lines()[1:] == whole


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("parseHTTPResponse(x2)", ["parse", "HTTP", "Response", "(", "x", "2", ")"]),
        ("max_length = MAX_SIZE", ["max", "_length", " =", " MAX", "_SIZE"]),
        ("__init__()", ["__init", "__", "()"]),
        ("été(naïveName)", ["été", "(", "naïve", "Name", ")"]),
    ],
)
def test_parts_of_names(manners: Neovim, text: str, parts: list[str]) -> None:
    found = manners.lua(
        """
        local rest, parts = ..., {}
        while rest ~= "" do
          parts[#parts + 1] = require("dlsp.parts").first(rest, "part")
          rest = rest:sub(#parts[#parts] + 1)
        end
        return parts
        """,
        text,
    )
    assert found == parts


def test_a_part_and_a_block(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "max_length = 1\n    other = 2\n\n    return other"
    manners.lua("vim.keymap.set('i', '<C-F>', '<Plug>(dlsp-accept-part)')")
    manners.lua("vim.keymap.set('i', '<C-B>', '<Plug>(dlsp-accept-block)')")
    manners.keys("idef f():<CR>")
    manners.wait_for_ghost()
    manners.keys("<C-F>")
    assert manners.lines()[1:] == ["    max"]
    manners.keys("<C-B>")
    assert manners.lines()[1:] == ["    max_length = 1", "    other = 2"]
    manners.keys("<C-B>")
    assert manners.lines()[1:] == ["    max_length = 1", "    other = 2", "", "    return other"]


def test_lines_are_shown_below_and_the_rest_of_the_line_behind_them(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "a,\n    b,\n"
    manners.keys("if()<Left>")
    assert manners.wait_for_ghost().startswith("a,\n    b,")
    assert manners.screen()[:3] == ["f(a,", "    b,", ")"]
    manners.keys("<Tab>")
    assert manners.lines() == ["f(a,", "    b,", ")"]


def test_the_rest_of_a_line_that_wraps_is_shown_once(manners: Neovim) -> None:
    rest = "x" * 60 + ", " + "y" * 40 + ")"
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ... })", "f(" + rest)
    manners.lua("require('dlsp.ghost').show(0, 0, 2, ..., 0)", "z" * 110 + ",\n    b,\n")
    assert manners.screen()[:5] == ["f(" + "z" * 98, "z" * 12 + ",", "", "    b,", rest[:100]]


def test_nothing_is_asked_in_a_line_that_neovim_is_slow_in(manners: Neovim, stub: StubEngine) -> None:
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ('x'):rep(20001) })")
    manners.keys("A = ")
    assert quiet(manners)
    assert asked(stub) == []
    assert manners.status() == "dlsp is off: this line is longer than 20000 bytes."
    manners.keys("<CR>return ")
    manners.wait_for_ghost()


def test_dismiss(manners: Neovim, stub: StubEngine) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    before = len(asked(stub))
    manners.keys("<C-]>")
    assert quiet(manners)
    assert manners.screen()[0] == "return"
    assert len(asked(stub)) == before
    manners.keys("<BS> ")
    manners.wait_for_ghost()


def test_typing_along_shrinks_and_backspace_grows(manners: Neovim, stub: StubEngine) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    before = len(asked(stub))
    for typed, left in (("a", " + b"), (" +", " b")):
        manners.type(typed)
        assert manners.ghost() == left
        assert manners.screen()[0] == "return a + b"
    manners.keys("<BS><BS>")
    assert manners.ghost() == " + b"
    assert len(asked(stub)) == before
    manners.keys("<Tab>")
    assert manners.lines() == ["return a + b"]


def test_typing_something_else_asks_anew(manners: Neovim, stub: StubEngine) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    stub.answer = lambda request: "_other"
    manners.keys("x")
    assert manners.wait_for_ghost() == "_other"
    assert manners.screen()[0] == "return x_other"


def test_an_accept_is_one_undo_step(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "a + b\n\n\nprint(1)" if request["gaps"][0]["prefix"].endswith("return ") else ""
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    manners.keys("<M-Right><Tab>")
    manners.type("  # so")
    manners.keys("<Esc>")
    states = [manners.lines()]
    for _ in range(4):
        manners.keys("u")
        states.append(manners.lines())
    accepted = ["return a + b", "", "", "print(1)"]
    assert states == [[*accepted[:3], "print(1)  # so"], accepted, ["return a"], ["return "], [""]]
    manners.keys("4<C-R>")
    assert manners.lines() == [*accepted[:3], "print(1)  # so"]


def test_neovims_own_menu_goes_first(manners: Neovim, stub: StubEngine) -> None:
    manners.keys("iapple<CR>apricot<CR>ap")
    manners.wait_for_ghost()
    manners.keys("<C-N>")
    assert manners.eval("pumvisible()")
    assert quiet(manners)
    manners.keys("<C-N><C-Y>")
    assert not manners.eval("pumvisible()")
    manners.wait_for_ghost()
    assert manners.lines()[2] in ("apple", "apricot")


def test_nothing_of_ours_is_in_its_menu(manners: Neovim) -> None:
    """There it is for editors without ghost text."""
    assert manners.lua("return vim.lsp.get_clients({ name = 'dlsp' })[1].server_capabilities.completionProvider == nil")


def test_a_completion_that_finds_nothing_is_no_menu(manners: Neovim) -> None:
    """Neovim 0.12 looks for completions after each key, and stays in that mode."""
    if not manners.eval("exists('&autocomplete')"):
        pytest.skip("only Neovim 0.12 completes by itself")
    manners.command("set autocomplete complete=.")
    try:
        manners.keys("iapple<CR>x = ")
        manners.wait_for_ghost()
        manners.keys("<Tab><CR>ap")
        assert manners.until(lambda: manners.eval("pumvisible()"), "the menu is open")
        assert quiet(manners)
        assert manners.lines() == ["apple", "x = a + b", "ap"]
    finally:
        manners.command("set autocomplete& complete&")


def test_behind_a_lines_end_nothing_is_suggested(manners: Neovim) -> None:
    manners.command("set virtualedit=all")
    try:
        manners.keys("ix =<Esc>20|i")
        assert quiet(manners)
        manners.keys("<Esc>A ")
        manners.wait_for_ghost()
    finally:
        manners.command("set virtualedit&")


def test_a_plugins_menu_takes_the_suggestion_away_and_gives_it_back(manners: Neovim) -> None:
    manners.lua(
        """
        Events = {}
        package.loaded["cmp"] = {
          visible = function() return Open end,
          event = { on = function(_, name, call) Events[name] = call end },
        }
        """
    )
    cmp = "Open = ...; Events[Open and 'menu_opened' or 'menu_closed']()"
    blink = "vim.cmd.doautocmd(... and 'User BlinkCmpMenuOpen' or 'User BlinkCmpMenuClose')"
    try:
        manners.keys("ireturn ")
        for menu in (cmp, blink):
            manners.wait_for_ghost()
            manners.lua(menu, True)
            manners.until(lambda: manners.screen()[0] == "return", "the keys are the menu's")
            manners.lua(menu, False)
        manners.wait_for_ghost()
    finally:
        manners.lua("package.loaded['cmp'] = nil")


def test_macros_record_and_play_keys_alone(manners: Neovim) -> None:
    manners.keys("qaoreturn ")
    assert quiet(manners)
    manners.keys("<Tab>1<Esc>q")
    manners.keys("2@a")
    assert manners.lines()[1:] == ["return  1"] * 3
    manners.keys("oreturn ")
    manners.wait_for_ghost()


def test_several_cursors(manners: Neovim) -> None:
    manners.keys("i1<CR>2<CR>3<Esc>gg<C-V>GI")
    manners.type("x")
    assert quiet(manners)
    manners.keys("<Esc>")
    assert manners.lines() == ["x1", "x2", "x3"]
    manners.command("let b:visual_multi = {}")
    manners.keys("Go")
    assert quiet(manners)
    manners.command("unlet b:visual_multi")
    manners.keys("y")
    manners.wait_for_ghost()


def test_brackets_that_close_themselves(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "f(a[0]) + 1"
    manners.command("inoremap <buffer> ( ()<Left>")
    manners.command("inoremap <buffer> [ []<Left>")
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    before = len(asked(stub))
    manners.keys("f(a[")
    assert manners.lines() == ["return f(a[])"]
    assert manners.ghost() == "0]) + 1"
    assert manners.screen()[0] == "return f(a[0]) + 1"
    assert len(asked(stub)) == before
    manners.keys("<Tab>")
    assert manners.lines() == ["return f(a[0]) + 1"]


@pytest.mark.parametrize(
    ("suggested", "key", "steps"),
    [
        ("f(a[0]) + 1", "<M-Right>", ["f(a[0])", "f(a[0])", "f(a[0]) +", "f(a[0]) + 1"]),
        ("f(a[0] or g(b), c)\n    d", "<M-C-Right>", ["f(a[0] or g(b), c)", "f(a[0] or g(b), c)\n    d"]),
        ("f(a[b(')') + c])", "<M-Right>", ["f(a[b])", "f(a[b(')')])", "f(a[b(')') +])"]),
    ],
)
def test_brackets_that_closed_themselves_are_no_part_of_what_is_accepted(
    manners: Neovim, stub: StubEngine, suggested: str, key: str, steps: list[str]
) -> None:
    stub.answer = lambda request: suggested
    manners.command("inoremap <buffer> ( ()<Left>")
    manners.command("inoremap <buffer> [ []<Left>")
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    manners.keys("f(a[")
    for step in steps:
        manners.keys(key)
        assert "\n".join(manners.lines()) == "return " + step


def test_closers_that_stood_there_are_replaced(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "first, second):"
    manners.keys("idef add()<Left>")
    manners.wait_for_ghost()
    assert manners.screen()[0] == "def add(first, second):"
    manners.type("first")
    assert manners.screen()[0] == "def add(first, second):"
    assert manners.lines() == ["def add(first)"]
    manners.keys("<M-Right>")
    assert manners.lines() == ["def add(first,)"]
    manners.keys("<Tab>")
    assert manners.lines() == ["def add(first, second):"]
    assert manners.cursor() == [1, len("def add(first, second):")]


def test_a_quote_and_a_bracket_are_replaced_part_by_part(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "it's\") + x"
    manners.keys('iprint("")<Left><Left>')
    manners.wait_for_ghost()
    assert manners.screen()[0] == 'print("it\'s") + x'
    for line in ('print("it")', 'print("it\'")', 'print("it\'s")', 'print("it\'s")', 'print("it\'s") +'):
        manners.keys("<M-Right>")
        assert manners.lines() == [line]


def test_where_nothing_is_left_but_closers_nothing_is_shown(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "first)" if "first" not in request["gaps"][0].get("middle", "") else ""
    manners.keys("iadd()<Left>")
    manners.wait_for_ghost()
    manners.type("first")
    assert quiet(manners)
    manners.keys("<Tab>")
    assert manners.lines() != ["add(first)"], "Tab is Tab"


def test_lines_replace_a_closer_too(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "a,\n    b,\n)\nprint(x)"
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'x = f()' })")
    manners.keys("A<Left>")
    manners.wait_for_ghost()
    shown = ["x = f(a,", "    b,", ")", "print(x)"]
    assert manners.screen()[: len(shown)] == shown
    manners.keys("<Tab>")
    assert manners.lines() == shown


def test_insert_mode_alone_asks(manners: Neovim) -> None:
    manners.keys("ireturn <Esc>")
    manners.keys("i")  # nothing changes, and the cursor stays where it is
    manners.wait_for_ghost()


def test_composed_text_comes_at_once(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "文字列 = '🙂é'"
    manners.keys("i名 = ")
    manners.wait_for_ghost()
    manners.type("文字")  # an input method hands over what was composed as one input
    assert manners.ghost() == "列 = '🙂é'"
    manners.keys("<M-Right>")
    assert manners.lines() == ["名 = 文字列"]
    manners.keys("<Tab>")
    assert manners.lines() == ["名 = 文字列 = '🙂é'"]


def test_snippets_keep_tab(manners: Neovim) -> None:
    if not manners.eval("has('nvim-0.11')"):
        pytest.skip("Neovim 0.10 itself has no key for a snippet's next place")
    manners.keys("i")
    manners.lua("vim.snippet.expand('f(${1:a}, ${2:b})$0')")
    manners.keys("x")
    manners.wait_for_ghost()
    manners.keys("<Tab>")
    assert manners.lines() == ["f(x, b)"]
    manners.keys("y")
    manners.wait_for_ghost()
    manners.keys("<Plug>(dlsp-accept)")
    manners.lua("vim.snippet.stop()")
    assert manners.lines() != ["f(x, y)"]


def test_a_snippet_of_luasnip_keeps_tab_where_it_had_it(manners: Neovim) -> None:
    if not manners.eval("has('nvim-0.11')"):
        pytest.skip("Tab had no mapping before")
    manners.lua("package.loaded['luasnip'] = { locally_jumpable = function() return true end }")
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    manners.keys("<Tab>")
    manners.lua("package.loaded['luasnip'] = nil")
    assert manners.lines() == ["return  "]


def test_a_file_with_dos_line_ends(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "a\n    b"
    manners.command("set fileformat=dos")
    manners.keys("ix<CR>")
    assert manners.wait_for_ghost() == "a\n    b"
    manners.keys("<Tab>")
    assert manners.lines() == ["x", "a", "    b"]


def test_tabs_are_shown_as_wide_as_they_are(manners: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "1:\n\tx = 1\n\ty"
    manners.command("set tabstop=6")
    manners.keys("iif ")
    manners.wait_for_ghost()
    assert manners.screen()[:3] == ["if 1:", "      x = 1", "      y"]


@pytest.mark.parametrize("how", ["Dlsp toggle", "Dlsp snooze 1", "let b:dlsp = v:false"])
def test_off_asks_nothing(manners: Neovim, stub: StubEngine, how: str) -> None:
    manners.lua(
        """
        Told = 0
        local function tell() Told = Told + 1; return true end
        vim.api.nvim_create_autocmd("User", { pattern = "DlspStatus", callback = tell })
        """
    )
    manners.command(how)
    manners.keys("ireturn ")
    assert quiet(manners)
    assert asked(stub) == []
    assert manners.lua("return require('dlsp').statusline()") == "dlsp off"
    if "Dlsp" in how:
        assert manners.lua("return Told") == 1
        manners.command("Dlsp toggle")
        manners.keys("x")
        manners.wait_for_ghost()


def test_a_buffer_that_turns_out_to_be_no_file_gets_no_suggestions(manners: Neovim, stub: StubEngine) -> None:
    manners.command("setlocal buftype=acwrite")
    manners.keys("ireturn ")
    assert quiet(manners)
    assert asked(stub) == []


def test_leaving_the_buffer_takes_the_suggestion_along(manners: Neovim, folder: Path) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    manners.keys("<C-O>:edit " + str(folder / "other.py").replace(" ", "\\ ") + "<CR>")
    # Insert mode goes on, so the new buffer may get a suggestion of its own at any moment; the old one has none left.
    left = "return #vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('#'), -1, 0, -1, {})"
    assert manners.lua(left) == 0
    manners.keys("<Esc>:buffer #<CR>")
    assert manners.screen()[0] == "return"


def test_an_accept_is_sent_to_the_server(manners: Neovim) -> None:
    manners.lua(
        """
        told = {}
        local client = require('dlsp.client')
        told_by = client.notify
        client.notify = function(buf, method, params) table.insert(told, { method, params.acceptedLength or 0 }) end
        """
    )
    try:
        manners.keys("ireturn ")
        manners.wait_for_ghost()
        manners.keys("<M-Right><Tab><CR>x = ")
        manners.wait_for_ghost()
        manners.keys("<C-]>")
        told = manners.lua("return told")
    finally:
        manners.lua("require('dlsp.client').notify = told_by")
    kinds = [(method.removeprefix("textDocument/did").removesuffix("Completion"), length) for method, length in told]
    assert kinds == [("Show", 0), ("PartiallyAccept", 1), ("PartiallyAccept", 5), ("Show", 0), ("Dismiss", 0)]


def test_lines_below_the_window_are_scrolled_to(manners: Neovim) -> None:
    manners.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(('x = 1\\n'):rep(40), '\\n'))")
    manners.keys("G")
    show = (
        "require('dlsp.ghost').show(vim.fn.bufnr(), vim.fn.line('.') - 1, 0, 'first\\n second\\n third\\n fourth', 0)"
    )
    manners.lua(show)
    assert manners.screen()[-6:-2] == ["first", " second", " third", " fourth"]
    manners.command("split | split | split | resize 3")
    manners.keys("G")
    manners.lua(show)
    assert "first … +1 line" in manners.screen()
    manners.command("only")
