""":Dlsp, :checkhealth dlsp, the statusline and the manual."""

from pathlib import Path

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import PLUGIN, Neovim


def test_completion_and_a_wrong_name(manners: Neovim) -> None:
    names = ["context", "fill", "instruct", "log", "restart", "snooze", "status", "toggle", "why"]
    assert manners.eval("getcompletion('Dlsp ', 'cmdline')") == names
    manners.command("Dlsp nonsense")
    assert "dlsp: there are context, fill, instruct, log, restart, snooze, status, toggle, why." in manners.messages()


def test_status_and_statusline(manners: Neovim, stub: StubEngine) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    manners.until(lambda: manners.status() == "dlsp: ready", "it is ready")
    manners.command("Dlsp status")
    assert "dlsp: ready; text goes to this machine" in manners.messages()
    manners.command("set statusline=%{%v:lua.require('dlsp').statusline()%}")
    assert manners.screen()[-2] == "dlsp"
    stub.hold.set()
    manners.keys("x")
    manners.until(lambda: manners.screen()[-2] == "dlsp …", "the statusline says that dlsp is thinking")
    stub.hold.clear()
    manners.until(lambda: manners.screen()[-2] == "dlsp", "the statusline says that dlsp is ready")
    manners.command("set statusline&")


def test_a_busy_engine(manners: Neovim, stub: StubEngine) -> None:
    line = "return require('dlsp').statusline()"
    stub.raw, stub.beats = b"\n", True
    stub.more.set()
    manners.keys("ireturn ")
    manners.until(lambda: manners.lua(line) == "dlsp busy", "the statusline says that the engine is busy")
    assert manners.status() == "dlsp: busy, the engine is too busy to answer in time"
    stub.raw = None
    stub.more.clear()
    manners.keys("x")
    manners.wait_for_ghost()
    manners.until(lambda: manners.lua(line) == "dlsp", "the statusline says that dlsp is ready")


def test_log(manners: Neovim) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    manners.keys("<Esc>")
    manners.command("Dlsp log")
    assert any("a suggestion" in line for line in manners.lines())
    assert "return" not in "".join(manners.lines())
    manners.command("close")


def test_restart(manners: Neovim) -> None:
    before = manners.server_pid()
    manners.command("Dlsp restart")
    manners.until(lambda: manners.server_pids() not in ([], [before]), "there is another server")
    manners.wait_for_server()
    manners.keys("ireturn ")
    manners.wait_for_ghost()


def test_health(manners: Neovim) -> None:
    manners.command("checkhealth dlsp")
    manners.until(lambda: any("dlsp" in line for line in manners.lines()), "the report is there")
    report = "\n".join(manners.lines())
    for part in ("Neovim 0.1", "dlsp 0.", "the engine runs", "1 server running", "dlsp: "):
        assert part in report, report
    assert "does not lead to dlsp" not in report
    assert "ERROR" not in report.replace("model", "") or "dlsp model pull" in report
    manners.command("bwipeout")


def test_health_runs_dlsp_as_the_server_is_run(manners: Neovim) -> None:
    manners.lua("Settings = vim.g.dlsp; vim.g.dlsp = { cmd = { 'env', 'dlsp', 'serve', '--stdio' } }")
    try:
        manners.command("checkhealth dlsp")
        manners.until(lambda: any("dlsp 0." in line for line in manners.lines()), "dlsp's version is there")
    finally:
        manners.command("bwipeout")
        manners.lua("vim.g.dlsp = Settings")


def test_a_buffer_that_is_no_file_says_why_nothing_comes(manners: Neovim) -> None:
    manners.command("enew")
    manners.command("Dlsp status")
    assert manners.messages().endswith("; this buffer is no file")


def test_the_manual_has_what_there_is(manners: Neovim) -> None:
    manners.command(f"helptags {PLUGIN}/doc")
    try:
        for topic in (
            "dlsp",
            ":Dlsp",
            "dlsp-keys",
            "dlsp-install",
            "dlsp-edits",
            "dlsp-instruct",
            "dlsp-settings",
            "dlsp-highlights",
            "dlsp-manners",
        ):
            manners.command(f"help {topic}")
            assert manners.eval("expand('%:t')") == "dlsp.txt"
            manners.command("close")
    finally:
        (Path(PLUGIN) / "doc" / "tags").unlink()


def test_highlights_are_links_that_a_user_may_set(manners: Neovim) -> None:
    for name in ("Ghost", "Fill", "Canvas", "Mask", "Replaced", "Site", "Hint"):
        group = manners.lua("return vim.api.nvim_get_hl(0, { name = ... })", f"Dlsp{name}")
        assert group["link"]
        assert group["default"]


def test_next_edit_says_that_there_is_none(manners: Neovim) -> None:
    manners.keys("<Plug>(dlsp-next-edit)")
    manners.until(lambda: "no place should follow an edit" in manners.messages(), "it is said")


def test_the_context_is_of_what_is_saved(manners: Neovim, folder: Path) -> None:
    """Typed lines are in no file yet, so there is nothing to show of them; a refusal is said once."""
    manners.command("set cmdheight=8")  # the sentence names the file, and must not want a key
    (folder / "sum.py").unlink()
    manners.command("Dlsp context")
    manners.until(lambda: "dlsp: no context to show: There is no file" in manners.messages(), "it is refused")
    manners.keys("ireturn <Esc>")
    manners.command("Dlsp context")
    assert "dlsp: save the file first" in manners.messages()
    manners.command("set cmdheight&")


def test_a_snooze_ends_by_0(manners: Neovim, stub: StubEngine) -> None:
    manners.command("Dlsp snooze")
    assert "dlsp is off for 10 minutes." in manners.messages()
    manners.command("Dlsp snooze 0")
    manners.keys("ireturn ")
    manners.wait_for_ghost()


def test_why(manners: Neovim, stub: StubEngine) -> None:
    def why() -> str:
        manners.command("messages clear | Dlsp why")
        return manners.messages()

    stub.answer = lambda request: ""
    manners.keys("ix")
    manners.until(
        lambda: why() == "dlsp: nothing the last time, since the model has nothing to add here.", "it is said"
    )
    stub.answer = lambda request: "a + b"
    manners.keys(" = ")
    manners.wait_for_ghost()
    assert why() == "dlsp had a suggestion the last time."
    manners.command("let b:dlsp = v:false")
    assert why() == "dlsp is off: b:dlsp is false in this buffer."
    manners.command("enew")
    assert why() == "dlsp: nothing is suggested in this buffer, which is no file."


def test_wrong_settings_are_said_once_and_break_nothing(manners: Neovim) -> None:
    manners.lua("Settings = vim.g.dlsp; vim.g.dlsp = { debounce = 'x', settings = Settings.settings, keyz = {} }")
    try:
        manners.command("messages clear | edit")
        manners.until(lambda: "2 wrong values" in manners.messages(), "it is said")
        manners.keys("ireturn ")
        manners.wait_for_ghost()
        manners.keys("<Esc>")
        assert manners.messages().count("wrong values") == 1
        manners.command("checkhealth dlsp")
        manners.until(lambda: any("has no setting `keyz`" in line for line in manners.lines()), "health says it too")
        manners.command("bwipeout")
    finally:
        manners.lua("vim.g.dlsp = Settings")
