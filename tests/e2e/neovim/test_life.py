"""What dies comes back: the server by the plugin, the engine by the server; and Neovim's own client as an option."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.texts import LIGHT


def test_a_server_that_dies_is_started_again(manners: Neovim) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    before = manners.server_pid()
    os.kill(before, signal.SIGKILL)
    manners.until(lambda: manners.server_pids() not in ([], [before]), "there is another server")
    manners.wait_for_server()
    manners.keys("x")
    manners.wait_for_ghost()
    assert manners.lines() == ["return x"]
    assert manners.messages() == "dlsp's server ended; it is started again."


def test_what_is_typed_while_the_server_is_restarted_is_known_to_the_next(manners: Neovim) -> None:
    """Neovim tells a client of no change if the buffer changed while it had none."""
    manners.command("Dlsp restart")
    time.sleep(0.05)
    manners.keys("ix<CR><Esc>")
    manners.wait_for_server()
    manners.keys("Areturn ")
    manners.wait_for_ghost()


def test_a_server_that_never_runs_is_given_up(manners: Neovim) -> None:
    manners.lua(
        """
        Said, Told, Cmd = {}, vim.notify, require('dlsp.config').cmd
        vim.notify = function(said) table.insert(Said, said) end
        require('dlsp.config').cmd = function() return { 'false' } end
        require('dlsp.client').restart()
        """
    )
    try:
        said = manners.until(lambda: manners.lua("return #Said > 0 and Said"), "it is said")
        assert said == ["dlsp's server does not run: see `:checkhealth dlsp`."]
        assert manners.lua("return require('dlsp').statusline()") == "dlsp !"
    finally:
        manners.lua("vim.notify = Told; require('dlsp.config').cmd = Cmd; require('dlsp.client').restart()")
    manners.wait_for_server()
    manners.keys("ireturn ")
    manners.wait_for_ghost()


def test_it_is_starting_until_the_server_has_answered(manners: Neovim) -> None:
    code = "vim.cmd('Dlsp restart'); return { require('dlsp.status').sentence(), require('dlsp').statusline() }"
    assert manners.lua(code) == ["dlsp: starting", "dlsp ↓"]
    manners.wait_for_server()
    manners.until(lambda: manners.status() == "dlsp: ready", "it is ready")


def test_one_server_for_all_folders_in_use(manners: Neovim, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / ".git").mkdir(parents=True)
    folders = """
        local client = vim.lsp.get_clients({ name = 'dlsp' })[1]
        return vim.tbl_map(function(folder) return folder.name end, client.workspace_folders)
        """
    other = str(tmp_path / "other")
    manners.command(f"edit {other}/a.py")
    manners.until(lambda: manners.lua(folders) == [str(folder), other], "the server knows both folders")
    assert manners.lua("return #vim.lsp.get_clients({ name = 'dlsp' })") == 1
    manners.command("bwipeout")
    manners.until(lambda: manners.lua(folders) == [str(folder)], "it has forgotten the one that is closed")


@pytest.fixture
def native(program: Path, stub: StubEngine, folder: Path, tmp_path: Path) -> Iterator[Neovim]:
    stub.reset()
    state, config = stub.file.parent, "vim.g.dlsp = { native = true, settings = { suggest = 'eager', model = '0.5b' } }"
    with Neovim(program, tmp_path / "own", folder / "sum.py", state, config) as vim:
        vim.wait_for_server()
        if not vim.eval("has('nvim-0.12')"):
            pytest.skip("only Neovim 0.12 has a client of its own")
        yield vim
        assert vim.errors() == ""


def test_neovims_own_client(native: Neovim) -> None:
    native.keys("ireturn ")
    native.until(lambda: native.screen()[0] == "return a + b", "Neovim shows the suggestion")
    assert native.ghost() is None
    native.keys("a<Tab>")  # 0.12.4 alone would keep the typed `a` twice
    native.until(lambda: native.lines() == ["return a + b"], "it is accepted")
    native.keys("<Esc>o<Tab>")
    assert native.lines()[1].isspace()


def test_neovims_own_client_replaces_closers(native: Neovim, stub: StubEngine) -> None:
    stub.answer = lambda request: "first, second):"
    native.keys("idef add()<Left>")
    native.until(lambda: native.screen()[0] == "def add(first, second):", "Neovim shows the suggestion")
    native.keys("fi<Tab>")
    native.until(lambda: native.lines() == ["def add(first, second):"], "it is accepted")


def test_neovims_own_client_asks_nothing_while_it_is_off(native: Neovim, stub: StubEngine) -> None:
    native.command("Dlsp toggle")
    (before,) = native.server_pids()
    native.command("Dlsp restart")
    native.until(lambda: native.server_pids() not in ([], [before]), "there is another server")
    native.until(lambda: native.lua("return require('dlsp.client').of(0) ~= nil"), "it is attached")
    number = len(stub.requests)
    native.keys("ireturn ")
    native.until(lambda: any("snoozed" in each for each in native.log()), "there is a reason for quiet")
    assert len(stub.requests) == number
    native.command("Dlsp toggle")
    native.keys("x")
    native.until(lambda: native.screen()[0] == "return xa + b", "Neovim shows the suggestion")


def test_one_server_where_neovim_starts_it_too(program: Path, stub: StubEngine, tmp_path: Path) -> None:
    stub.reset()
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    config = "vim.cmd.filetype('on'); if vim.lsp.enable then vim.lsp.enable('dlsp') end"
    with Neovim(program, tmp_path / "own", tmp_path / "one" / "a.py", stub.file.parent, config) as vim:
        vim.command(f"split {tmp_path}/two/b.py")
        vim.wait_for_server()
        folders = "return #(require('dlsp.client').of(0) or { workspace_folders = {} }).workspace_folders == 2"
        vim.until(lambda: vim.lua(folders), "the server knows both folders")
        assert vim.lua("return #vim.lsp.get_clients({ name = 'dlsp' })") == 1
        assert vim.errors() == ""


def test_ghost_text_where_neovim_starts_the_server(
    program: Path, stub: StubEngine, folder: Path, tmp_path: Path
) -> None:
    """The client of `vim.lsp.enable` is the same as the plugin's own: it says that it shows inline completions."""
    stub.reset()
    config = """
        vim.cmd.filetype('on')
        if vim.lsp.enable then vim.lsp.enable('dlsp') end
        require('dlsp').attach = function() require('dlsp.watch').start() end -- the other way alone starts it
    """
    with Neovim(program, tmp_path / "own", folder / "sum.py", stub.file.parent, config) as vim:
        if not vim.eval("has('nvim-0.11')"):
            pytest.skip("Neovim 0.10 has no vim.lsp.enable")
        vim.wait_for_server()
        vim.keys("ireturn ")
        vim.wait_for_ghost(10)
        os.kill(vim.server_pid(), signal.SIGKILL)
        vim.until(lambda: "started again" in vim.messages(), "its end is seen to")


@pytest.mark.parametrize("how", ["file", "saveas"])
def test_a_buffer_with_another_name_goes_on(manners: Neovim, folder: Path, how: str) -> None:
    manners.keys("ireturn <Esc>")
    notes = len(manners.log())
    manners.command(f"{how} {str(folder / 'other.py').replace(' ', chr(92) + ' ')}")
    manners.until(lambda: manners.lua("return require('dlsp.client').of(0) ~= nil"), "the server is attached")
    manners.keys("Ax")
    manners.wait_for_ghost()
    assert not [each for each in manners.log()[notes:] if "Error" in each]


def test_what_is_changed_right_after_another_name_is_known(manners: Neovim) -> None:
    manners.lua("vim.cmd.file('other.py'); vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'x = 1' })")
    manners.until(lambda: manners.lua("return require('dlsp.client').of(0) ~= nil"), "the server is attached")
    manners.keys("Goreturn ")
    manners.wait_for_ghost()


def test_a_name_that_is_refused_changes_nothing(manners: Neovim) -> None:
    manners.command("new other.py | wincmd p | silent! file other.py | only | let v:errmsg = ''")
    manners.until(lambda: manners.lua("return require('dlsp.client').of(0) ~= nil"), "the server is attached")
    manners.keys("ireturn ")
    manners.wait_for_ghost()


def test_an_installation_without_an_engine_names_the_command(program: Path, folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    command = json.dumps([sys.executable, "-c", LIGHT, "serve", "--stdio"]).replace("[", "{").replace("]", "}")
    with Neovim(program, tmp_path / "own", folder / "sum.py", state, f"vim.g.dlsp = {{ cmd = {command} }}") as vim:
        vim.keys("ix = ")
        vim.until(lambda: "[local]" in vim.status(), "the status names the command")
        vim.until(lambda: "This installation has no engine: run `" in vim.messages(), "it is said")
        assert not vim.rpc("nvim_get_mode")["blocking"], "a sentence in the middle of typing waits for no key"
        assert vim.lua("return require('dlsp').statusline()") == "dlsp !"
        vim.keys("1")
        assert vim.lines() == ["x = 1"]
        vim.rpc("nvim_input", "<Esc>:Dlsp why<CR>")
        vim.until(lambda: '"dlsp[local]"`' in "".join(vim.drawn.lines()), "all of it is shown")
        vim.keys("<CR>")
