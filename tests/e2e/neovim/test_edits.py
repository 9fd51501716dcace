"""Carrying an edit on, with the real server and what it learns from the edit by itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.neovim.test_servers import END, PYRIGHT, READY, START
from tests.e2e.texts import CALLER, FEES, FEES_RENAMED

RENAME = "gg0wcwoverdue_fee<Esc>"


@pytest.fixture
def renamed(manners: Neovim, stub: StubEngine, folder: Path) -> Iterator[Neovim]:
    """The function of FEES was given another name, and the places that use it are shown."""
    (folder / "caller.py").write_text(CALLER)
    manners.open(folder / "fees.py", FEES)
    manners.keys(RENAME)
    shown(manners)
    yield manners
    manners.keys("<Plug>(dlsp-dismiss)")


def shown(vim: Neovim) -> None:
    vim.until(lambda: vim.lua("return require('dlsp.edits').visible()"), "places are shown")


def gone(vim: Neovim) -> None:
    vim.until(lambda: not vim.lua("return require('dlsp.edits').visible()"), "no places are shown")


def text(vim: Neovim) -> str:
    return "\n".join(vim.lines()) + "\n"


def test_places_are_shown_where_they_are(renamed: Neovim) -> None:
    assert renamed.screen()[:7] == [
        "def overdue_fee(days):   4 places in 2 files, 2 out of sight: <Tab> next, <S-Tab> all, <Esc> none",
        "    return days * 2",
        "",
        "",
        "def total(days):",
        "    base = late_feeoverdue_fee(days)",
        "    return base + late_feeoverdue_fee(1)",
    ]
    assert text(renamed) == FEES.replace("def late_fee", "def overdue_fee")


def test_go_on_here_and_there(renamed: Neovim) -> None:
    renamed.keys("<Tab>")
    assert renamed.cursor() == [6, 11]
    renamed.keys("<Tab>")
    assert renamed.lines()[5:] == ["    base = overdue_fee(days)", "    return base + late_fee(1)"]
    shown(renamed)
    renamed.keys("<Tab>")
    assert renamed.cursor() == [7, 18]
    renamed.keys("<Tab>")
    assert text(renamed) == FEES_RENAMED


def test_everywhere_is_one_undo_step_in_each_buffer(renamed: Neovim, folder: Path) -> None:
    renamed.command(f"cd {name(folder)}")
    renamed.rpc("nvim_input", "<S-Tab>")
    asked = "1: All: caller.py lines 1, 3; fees.py lines 6, 7"
    renamed.until(lambda: asked in renamed.drawn.lines(), "the files are named")
    assert "Change 4 places, some of them out of sight?" in renamed.drawn.lines()
    renamed.keys("1<CR>")
    assert text(renamed) == FEES_RENAMED
    assert "changed 4 places in 2 files, not saved" in renamed.messages()
    gone(renamed)
    renamed.keys("u")
    assert text(renamed) == FEES.replace("def late_fee", "def overdue_fee")
    renamed.command(f"buffer {name(folder / 'caller.py')}")
    assert text(renamed) == CALLER.replace("late_fee", "overdue_fee")
    assert (folder / "caller.py").read_text() == CALLER
    renamed.keys("u")
    assert text(renamed) == CALLER


def test_the_next_place_is_in_another_file(renamed: Neovim, folder: Path) -> None:
    renamed.keys("G$<Tab>")
    renamed.until(lambda: Path(renamed.eval("expand('%')")).name == "caller.py", "the other file is open")
    assert renamed.lines()[renamed.cursor()[0] - 1][renamed.cursor()[1] :].startswith("late_fee")
    shown(renamed)
    renamed.keys("<Tab>")
    assert "overdue_fee" in text(renamed)


def test_dismiss(renamed: Neovim) -> None:
    renamed.keys("<Esc>")
    gone(renamed)
    assert renamed.screen()[0] == "def overdue_fee(days):"
    renamed.keys("<Plug>(dlsp-next-edit)")
    renamed.until(lambda: "no place should follow an edit" in renamed.messages(), "it is said")
    assert text(renamed) == FEES.replace("def late_fee", "def overdue_fee")


def test_another_change_takes_them_away_until_the_keys_rest(renamed: Neovim) -> None:
    renamed.keys("ggO")
    renamed.type("# fees")
    assert renamed.screen()[1] == "def overdue_fee(days):"
    renamed.keys("<Esc>")
    shown(renamed)
    renamed.keys("<Esc>")


def test_all_may_be_those_of_this_file_alone(renamed: Neovim, folder: Path) -> None:
    renamed.keys("<S-Tab>2<CR>")
    assert text(renamed) == FEES_RENAMED
    renamed.command(f"edit {name(folder / 'caller.py')}")
    assert text(renamed) == CALLER


def test_a_question_that_is_left_changes_nothing(renamed: Neovim) -> None:
    renamed.keys("<S-Tab><Esc>")
    assert text(renamed) == FEES.replace("def late_fee", "def overdue_fee")


def test_the_hint_names_the_other_file(manners: Neovim, folder: Path) -> None:
    (folder / "caller.py").write_text(CALLER)
    manners.open(folder / "fees.py", "def late_fee(days):\n    return days * 2\n")
    manners.command(f"cd {name(folder)}")
    manners.keys(RENAME)
    shown(manners)
    hint = "2 places, in caller.py: <Tab> shows the first, <S-Tab> all, <Esc> none"
    assert manners.screen()[0] == f"def overdue_fee(days):   {hint}"
    manners.keys("<Esc>")


def test_the_users_own_keys_stay_theirs(renamed: Neovim) -> None:
    renamed.keys("<Esc>")
    assert renamed.eval("maparg('<Tab>', 'n')") == ""
    renamed.command("nnoremap <buffer> <Tab> xx")
    renamed.command("nmap gn <Plug>(dlsp-next-edit)")
    renamed.keys("u" + RENAME)
    shown(renamed)
    assert renamed.eval("maparg('<Tab>', 'n')") == "xx"
    assert "4 places in 2 files, 2 out of sight: gn next, <S-Tab> all, <Esc> none" in renamed.screen()[0]
    renamed.keys("<Esc>")
    renamed.command("nunmap <buffer> <Tab>")
    renamed.command("nunmap gn")
    assert renamed.eval("maparg('<S-Tab>', 'n')") == ""


def test_tab_goes_forward_in_the_jump_list_while_it_can(manners: Neovim, folder: Path) -> None:
    manners.open(folder / "fees.py", FEES)
    manners.keys("ggGgg<C-O><C-O>")  # back, so that there is a way forward
    manners.keys(":call cursor(1, 5)<CR>cwoverdue_fee<Esc>")
    shown(manners)
    assert manners.eval("maparg('<Tab>', 'n')") == ""
    assert "2 places: <S-Tab> all, <Esc> none" in manners.screen()[0]
    manners.keys("<Esc>")


def test_keys_that_are_switched_off_are_not_taken(renamed: Neovim) -> None:
    renamed.lua("Settings = vim.g.dlsp; vim.g.dlsp = { keys = { ['next-edit'] = false, ['dismiss-edits'] = 'gz' } }")
    try:
        renamed.keys("<Esc>u" + RENAME)
        shown(renamed)
        assert renamed.eval("maparg('<Tab>', 'n')") == ""
        assert "4 places in 2 files, 2 out of sight: <S-Tab> all, gz none" in renamed.screen()[0]
        renamed.keys("gz")
        gone(renamed)
    finally:
        renamed.lua("vim.g.dlsp = Settings")


@pytest.fixture
def mode(manners: Neovim) -> Iterator[Callable[[str], None]]:
    """Sets how places are shown."""
    manners.lua("Settings = vim.g.dlsp")
    yield lambda mode: manners.lua(f"vim.g.dlsp = {{ edits = {mode} }}")
    manners.lua("vim.g.dlsp = Settings")


def test_subtle_draws_what_is_at_the_cursor(
    manners: Neovim, stub: StubEngine, folder: Path, mode: Callable[[str], None]
) -> None:
    mode("'subtle'")
    (folder / "caller.py").write_text(CALLER)
    manners.open(folder / "fees.py", FEES)
    manners.keys(RENAME)
    shown(manners)
    quiet = [
        "  def overdue_fee(days):",
        "      return days * 2",
        "",
        "",
        "  def total(days):",
        "»     base = late_fee(days)",
        "»     return base + late_fee(1)",
    ]
    manners.until(lambda: manners.screen()[:7] == quiet, "places are marked")
    assert manners.eval("maparg('<Tab>', 'n')") == "", "the key is the user's"
    manners.keys("5j")
    drawn = "»     base = late_feeoverdue_fee(days)   4 places in 2 files, 2 out of sight: <Tab> next,"
    manners.until(lambda: manners.screen()[5].startswith(drawn), "the place at the cursor is drawn")
    assert manners.screen()[6] == quiet[6]
    manners.keys("gg")
    manners.until(lambda: manners.screen()[:7] == quiet, "it is taken away again")
    assert manners.eval("maparg('<Tab>', 'n')") == ""
    manners.keys("<Plug>(dlsp-next-edit)")
    manners.until(lambda: manners.eval("maparg('<Tab>', 'n')") != "", "the key is for the place")
    manners.keys("<Tab>")
    assert manners.lines()[5:] == ["    base = overdue_fee(days)", "    return base + late_fee(1)"]
    manners.until(lambda: manners.screen()[5] == "      base = overdue_fee(days)", "its mark is gone")
    manners.keys("<Plug>(dlsp-dismiss)")
    manners.until(lambda: manners.screen()[6] == "    return base + late_fee(1)", "no mark is left")


@pytest.mark.parametrize("off", ["'off'", "false"])
def test_switched_off_they_come_by_a_key_alone(
    manners: Neovim, folder: Path, mode: Callable[[str], None], off: str
) -> None:
    mode(off)
    manners.open(folder / "fees.py", FEES)
    manners.keys(RENAME)
    manners.lua("vim.wait(900)")
    assert not manners.lua("return require('dlsp.edits').visible()")
    manners.keys("<Plug>(dlsp-next-edit)")
    shown(manners)
    assert manners.cursor() == [6, 11]
    manners.keys("<Esc>")


def test_off_shows_nothing(manners: Neovim, folder: Path) -> None:
    manners.open(folder / "fees.py", FEES)
    manners.command("let b:dlsp = v:false")
    manners.keys(RENAME)
    manners.lua("vim.wait(900)")
    assert manners.screen()[0] == "def overdue_fee(days):"


def name(file: Path) -> str:
    """A file's name as an argument of a command."""
    return str(file).replace(" ", "\\ ")


def test_a_file_whose_name_begins_alike_is_another_one(manners: Neovim, stub: StubEngine, folder: Path) -> None:
    for file, held in {"caller.py": CALLER, "caller.pyi": CALLER, "fees.py": FEES}.items():
        (folder / file).write_text(held)
    manners.open(folder / "caller.pyi", CALLER)
    manners.command(f"edit {name(folder / 'fees.py')}")
    manners.until(lambda: manners.lua("return require('dlsp.client').of(0) ~= nil"), "the server is attached")
    manners.keys(RENAME)
    shown(manners)
    manners.keys("<S-Tab>1<CR>")
    gone(manners)
    for file in ("caller.py", "caller.pyi"):
        manners.command(f"buffer {name(folder / file)}$")
        assert text(manners) == CALLER.replace("late_fee", "overdue_fee")


def test_a_place_that_may_not_be_changed_is_passed_over(renamed: Neovim, folder: Path) -> None:
    renamed.command(f"split {name(folder / 'caller.py')} | setlocal nomodifiable | wincmd p")
    renamed.keys("<S-Tab>1<CR>")
    assert text(renamed) == FEES_RENAMED
    renamed.command("only")


def test_a_place_in_a_closed_fold_is_seen(renamed: Neovim) -> None:
    renamed.command("5,7fold")
    renamed.keys("<Tab>")
    assert renamed.cursor() == [6, 11]
    assert renamed.eval("foldclosed('.')") == -1


def test_a_key_that_begins_another_is_not_waited_for(renamed: Neovim) -> None:
    renamed.command("nnoremap <Esc><Esc> ix<Esc>")
    renamed.command("set timeoutlen=60000")
    renamed.keys("<Esc>")
    try:
        gone(renamed)
    finally:
        renamed.command("nunmap <Esc><Esc>")
        renamed.command("set timeoutlen&")


def test_the_next_place_is_gone_to_whatever_hidden_says(renamed: Neovim) -> None:
    renamed.command("set nohidden")
    renamed.keys("G$<Tab>")
    renamed.command("set hidden")
    assert Path(renamed.eval("expand('%')")).name == "caller.py"


def test_marks_do_not_come_back_for_another_edit(renamed: Neovim) -> None:
    renamed.keys("Gox = 1<Esc>")
    renamed.lua("vim.wait(1500)")
    assert not renamed.lua("return require('dlsp.edits').visible()")


def test_places_out_of_sight_are_listed_first(manners: Neovim, folder: Path) -> None:
    manners.open(folder / "fees.py", FEES + "\n" * 200 + "print(late_fee(9))\n")
    manners.keys(RENAME)
    shown(manners)
    assert "3 places, 1 out of sight: <Tab> next, <S-Tab> all, <Esc> none" in manners.screen()[0]
    manners.command(f"cd {name(folder)}")
    manners.rpc("nvim_input", "<S-Tab>")
    manners.until(lambda: "1: All: fees.py lines 6, 7, 208" in manners.drawn.lines(), "the lines are named")
    manners.keys("<Esc>")
    assert "late_fee(9)" in text(manners)


PRICES = "import re\n\n\ndef total(prices):\n    amount = sum(prices)\n    return amount\n"


def test_what_pyright_reports_in_the_users_line_is_fixed(manners: Neovim, folder: Path) -> None:
    (folder / "orders.py").write_text("import json\n\nprint(json.dumps(1))\n")
    manners.open(folder / "prices.py", PRICES)
    manners.lua(START, "pyright", str(PYRIGHT))
    manners.until(lambda: manners.lua(READY), "pyright knows the file", 90)
    manners.keys("5Goprint(json.dumps(amuont))<Esc>")
    errors = "return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })"
    manners.until(lambda: manners.lua(errors) == 2, "pyright reports both", 30)
    shown(manners)
    manners.keys("<Tab>")
    assert manners.cursor()[0] in (1, 6)
    manners.keys("<Tab>")
    shown(manners)
    manners.keys("<Tab><Tab>")
    assert text(manners) == "import json\n" + PRICES.replace(
        "    return amount", "    print(json.dumps(amount))\n    return amount"
    )
    manners.lua(END)
    manners.until(lambda: manners.lua("return #vim.lsp.get_clients()") == 1, "the other server has ended")
