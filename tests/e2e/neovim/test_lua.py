"""The plugin's modules by themselves, in a Neovim without a screen and without a server."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.neovim.neovim import NO_PROVIDER, PLUGIN

Lua = Callable[..., Any]


@pytest.fixture
def lua(program: Path, tmp_path: Path) -> Lua:
    """Runs Lua code, with arguments as `...`, and returns what it returns, by way of JSON."""

    def run(code: str, *arguments: str) -> Any:
        script = tmp_path / "script.lua"
        script.write_text(
            f"{NO_PROVIDER}vim.opt.runtimepath:prepend({json.dumps(str(PLUGIN))})\n"
            f"local function run(...)\n{code}\nend\n"
            "io.stdout:write('RESULT ' .. vim.json.encode({ run(unpack(arg)) }))\n"
        )
        environment = {
            **os.environ,
            "VIMRUNTIME": f"{program.parents[1]}/share/nvim/runtime",
            "NVIM_LOG_FILE": "/dev/null",
        }
        command = [program, "--clean", "-n", "-i", "NONE", "-l", script, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
        assert "RESULT " in done.stdout, done.stdout + done.stderr
        (result,) = json.loads(done.stdout.partition("RESULT ")[2]) or [None]
        return result

    return run


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{ debounce = 'x' }", "vim.g.dlsp.debounce must be a number of milliseconds"),
        ("{ debounce = -1 }", "vim.g.dlsp.debounce must be a number of milliseconds"),
        ("{ cmd = 'dlsp' }", 'vim.g.dlsp.cmd must be a list like { "dlsp", "serve", "--stdio" }'),
        ("{ filetypes = { lua = 'no' } }", "vim.g.dlsp.filetypes must be a table like { markdown = false }"),
        ("{ keys = { accept = true } }", 'vim.g.dlsp.keys must be a table like { accept = "<Tab>", dismiss = false }'),
        ("{ keys = { foo = '<C-X>' } }", "vim.g.dlsp.keys has no action `foo`"),
        ("{ keyz = {} }", "vim.g.dlsp has no setting `keyz`"),
        ("{ edits = 1 }", 'vim.g.dlsp.edits must be "eager", "subtle" or "off"'),
        ("'on'", "vim.g.dlsp must be a table"),
    ],
)
def test_a_wrong_setting_is_said_and_as_if_not_set(lua: Lua, given: str, said: str) -> None:
    got = lua(
        f"vim.g.dlsp = {given}; local config = require('dlsp.config'); return {{ config.problems(), config.get() }}"
    )
    defaults = lua("return require('dlsp.config').get()")
    assert got == [[said], defaults]


def test_right_settings_are_merged_once_and_anew_when_they_change(lua: Lua) -> None:
    code = """
        vim.g.dlsp = { debounce = 5, keys = { accept = false }, cmd = { 'dlsp' } }
        local config = require('dlsp.config')
        local first = config.get()
        local same = rawequal(first, config.get())
        vim.g.dlsp = { debounce = 7 }
        return { config.problems(), first.debounce, first.keys.accept, first.keys.dismiss, same, config.get().debounce }
    """
    assert lua(code) == [[], 5, False, "<C-]>", True, 7]


BORROW = """
    local borrow, log = require('dlsp.borrow'), {}
    local function note(what) return function() table.insert(log, what) end end
    local function press() vim.api.nvim_feedkeys(vim.keycode('<Tab>'), 'mx', false) end
    vim.keymap.set('n', '<Tab>', note('user'), { buffer = true })
"""


def test_a_key_is_the_newest_owners_and_then_the_users_again(lua: Lua) -> None:
    code = """
        borrow.take(0, 'edits', { ['<Tab>'] = note('edits') }, 'd'); press()
        borrow.take(0, 'fill', { ['<Tab>'] = note('fill') }, 'd'); press()
        borrow.give_back(0, 'edits'); press()
        borrow.take(0, 'edits', { ['<Tab>'] = note('edits') }, 'd'); press()
        borrow.give_back(0, 'edits'); press()
        borrow.give_back(0, 'fill'); press()
        return log
    """
    assert lua(BORROW + code) == ["edits", "fill", "fill", "edits", "fill", "user"]


def test_a_key_that_the_user_maps_meanwhile_stays_the_users(lua: Lua) -> None:
    code = """
        borrow.take(0, 'edits', { ['<Tab>'] = note('edits') }, 'd')
        vim.keymap.set('n', '<Tab>', note('new'), { buffer = true })
        borrow.give_back(0, 'edits'); press()
        return log
    """
    assert lua(BORROW + code) == ["new"]


def test_a_file_is_known_by_each_of_its_names(lua: Lua, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    (real / "a.py").write_text("x = 1\n")
    (real / "a.pyi").write_text("x = 1\n")
    link.symlink_to(real)
    code = """
        local link, real = ...
        vim.cmd.edit(link .. '/a.py')
        local sites = require('dlsp.sites')
        local function buffer(path)
          return sites.buffer({ textDocument = { uri = vim.uri_from_fname(path) } }) or false
        end
        local root, told = require('dlsp.client'), {}
        local client = { workspace_folders = { { uri = vim.uri_from_fname(real), name = real } } }
        client.notify = function(...) told[#told + 1] = true end
        root.add_root(client, link)
        return { buffer(real .. '/a.py') == vim.api.nvim_get_current_buf(), buffer(real .. '/a.pyi'), #told }
    """
    assert lua(code, str(link), str(real)) == [True, False, 0]


def test_a_load_that_failed_is_not_ready(lua: Lua) -> None:
    code = """
        local status = require('dlsp.status')
        status.server({ busy = true, kind = 'Normal', message = 'loading the model' })
        status.progress({ kind = 'report', percentage = 50, title = 'loading' })
        status.progress({ kind = 'end', message = 'failed' })
        return status.state
    """
    assert lua(code) == "loading"


def test_ghost_text_is_no_text_in_a_terminal_without_true_color(lua: Lua) -> None:
    """Neovim's own color scheme has no color for comments there. A scheme that has one keeps it."""
    code = """
        vim.cmd.runtime('plugin/dlsp.lua')
        local function of(name) return vim.api.nvim_get_hl(0, { name = name, link = false }).ctermfg or 'as text' end
        local function colors() return { of('DlspGhost'), of('DlspCanvas'), of('DlspMask'), of('DlspHint') } end
        local default = colors()
        vim.api.nvim_set_hl(0, 'Comment', { ctermfg = 4 })
        vim.api.nvim_exec_autocmds('ColorScheme', {})
        return { default, colors() }
    """
    assert lua(code) == [[6, 6, 6, 6], [4, 4, 6, 6]]


def test_a_place_stands_in_the_version_that_the_server_knows(lua: Lua) -> None:
    """Known from what was sent to the server, not from an interface of Neovim's that is its own."""
    code = """
        vim.lsp.util.buf_versions = nil
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'late_fee(3)' })
        local range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 8 } }
        local function stands(version)
          local site = { textDocument = { version = version }, range = range, oldText = 'late_fee' }
          return require('dlsp.sites').stands(0, site, 'utf-16')
        end
        require('dlsp.client').versions[0] = 7
        return { stands(7), stands(6), stands(8), stands(vim.NIL) }
    """
    assert lua(code) == [True, False, False, True]
