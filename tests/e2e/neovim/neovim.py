"""A real Neovim, driven as its user would: keys in, the screen and the buffer out."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.e2e.neovim.rpc import Rpc
from tests.e2e.neovim.screen import Screen
from tests.e2e.waiting import until

PLUGIN = Path(__file__).parents[3] / "editors" / "neovim"
SIZE = 100, 24
# Where a Python file is opened, Neovim's own plugin for these would start each Python of the machine and look for its
# module `neovim` there: up to a second of processor time, half a minute on a busy machine.
NO_PROVIDER = "vim.g.loaded_python3_provider = 0\n"
# Manners are tested wherever there is a suggestion, not where one is likely to be right.
OPTIONS = """
vim.o.swapfile = false; vim.o.shortmess = vim.o.shortmess .. 'IF'; vim.o.expandtab = true; vim.o.shiftwidth = 4
vim.g.dlsp = { settings = { suggest = "eager", model = "0.5b" } }
"""

# Asks for a suggestion, not through the plugin; whether an engine had to do with the answer.
ASK = """
local client = require('dlsp.client').of(0)
local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
params.context = { triggerKind = 1 }
if not pcall(vim.lsp.buf_request_sync, 0, 'textDocument/inlineCompletion', params, 30000) then
  return false -- the server ended meanwhile
end
local notes = require('dlsp.client').notes
local last = notes[#notes] or 'loading'
return not (last:find('loading') or last:find('could not answer'))
"""

# The plugin's own timer, if it runs, was started before, and what it asks is pending when this one has run.
AFTER_DEBOUNCE = """
Debounced = false
vim.defer_fn(function() Debounced = true end, require('dlsp.config').get().debounce)
"""
SETTLED = """
if not Debounced then return false end
for _, client in ipairs(vim.lsp.get_clients({ name = 'dlsp' })) do
  for _, request in pairs(client.requests) do
    if request.type == 'pending' then return false end
  end
end
return true
"""


class Neovim:
    """Use as `with Neovim(program, folder, file, state) as vim`. Lines count from 1, columns in bytes from 0.

    `folder` is for its own files; `state` is the state folder of dlsp; `config` is the user's init.lua; `size` is the
    screen's, columns and rows.
    """

    def __init__(
        self,
        program: Path,
        folder: Path,
        file: Path,
        state: Path,
        config: str = "",
        size: tuple[int, int] = SIZE,
    ) -> None:
        self._size = size
        folder.mkdir(parents=True, exist_ok=True)
        init = folder / "init.lua"
        init.write_text(f"vim.opt.runtimepath:prepend({json.dumps(str(PLUGIN))})\n{NO_PROVIDER}{OPTIONS}\n{config}\n")
        environment = {
            **os.environ,
            "VIMRUNTIME": f"{program.parents[1]}/share/nvim/runtime",
            "NVIM_LOG_FILE": "/dev/null",
            "DLSP_STATE_DIR": str(state),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": "",
            **{f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")},
        }
        command = [program, "--embed", "--clean", "-u", init, "-n", "-i", "NONE", file]
        self.drawn = Screen()
        self.rpc = Rpc(command, environment, self.drawn.redraw)

    def __enter__(self) -> Self:
        self.rpc("nvim_ui_attach", *self._size, {"rgb": True, "ext_linegrid": True})
        self.until(lambda: self.eval("v:vim_did_enter"), "Neovim has started")
        return self

    def __exit__(self, *_: object) -> None:
        self.rpc.close()

    # What a user does

    def keys(self, keys: str) -> None:
        """Type: `<Tab>` and the like are keys. Waits until Neovim has dealt with them."""
        self.rpc("nvim_input", keys)
        self.eval("1")

    def type(self, text: str) -> None:
        """Type plain text."""
        self.keys(text.replace("<", "<lt>"))

    def go(self, line: int, column: int) -> None:
        self.rpc("nvim_win_set_cursor", 0, [line, column])

    def command(self, command: str) -> None:
        self.free()
        self.rpc("nvim_command", command)

    def open(self, file: Path, text: str) -> None:
        """Start anew with one file, as if Neovim had just been opened on it, the cursor at the text's end."""
        file.write_text(text)
        self.keys("<C-\\><C-N>")
        self.command("silent! %bwipeout!")
        self.command(f"edit {str(file).replace(' ', chr(92) + ' ')}")
        self.command("messages clear | let v:errmsg = '' | normal! G$")
        attached = "return require('dlsp.client').of(0) ~= nil"
        self.until(lambda: self.lua(attached), "the server is attached")

    # What a user sees

    def lines(self) -> list[str]:
        return self.rpc("nvim_buf_get_lines", 0, 0, -1, True)

    def cursor(self) -> list[int]:
        return self.rpc("nvim_win_get_cursor", 0)

    def screen(self) -> list[str]:
        """The screen as text."""
        self.command("redraw")
        return self.drawn.lines()

    def ghost(self) -> str | None:
        """The suggestion that is shown."""
        return self.lua("return package.loaded['dlsp.suggest'] and require('dlsp.suggest').text() or nil")

    def messages(self) -> str:
        return self.rpc("nvim_exec2", "messages", {"output": True})["output"]

    def errors(self) -> str:
        """The last error message, "" if there was none."""
        return self.eval("v:errmsg")

    def status(self) -> str:
        return self.lua("return require('dlsp.status').sentence()")

    def log(self) -> list[str]:
        """What the server logged."""
        return self.lua("return require('dlsp.client').notes")

    # What a test needs

    def lua(self, code: str, *arguments: Any) -> Any:
        self.free()
        return self.rpc("nvim_exec_lua", code, arguments)

    def eval(self, expression: str) -> Any:
        self.free()
        return self.rpc("nvim_eval", expression)

    def free(self) -> None:
        """Until Neovim waits for nobody; an AssertionError if it shows a message that wants a key."""
        deadline = time.monotonic() + 5
        while self.rpc("nvim_get_mode")["blocking"]:
            if time.monotonic() > deadline:
                raise AssertionError("Neovim waits for the user:\n" + "\n".join(self.drawn.lines()))
            time.sleep(0.002)

    def wait_for_ghost(self, seconds: float = 30) -> str:
        return self.until(self.ghost, "a suggestion is shown", seconds)

    def settle(self) -> None:
        """Until the plugin has asked what it would ask now, and everything that was asked is answered."""
        self.lua(AFTER_DEBOUNCE)
        self.until(lambda: self.lua(SETTLED), "nothing is asked")

    def insist_on_ghost(self, seconds: float = 120) -> str:
        """Wait for a suggestion, and ask again where a busy machine's engine took too long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.keys("<Plug>(dlsp-next)")
            soon = time.monotonic() + 6
            while time.monotonic() < soon:
                if ghost := self.ghost():
                    return ghost
                time.sleep(0.05)
        raise AssertionError(f"No suggestion in {seconds:.0f} s.\n{self.report()}")

    def wait_for_server(self, seconds: float = 90) -> None:
        """Until the server is attached to the buffer and its engine answers."""
        attached = "return require('dlsp.client').of(0) ~= nil"
        self.until(lambda: self.lua(attached), "the server is attached", seconds)
        self.until(lambda: self.lua(ASK), "the engine answers", seconds)

    def server_pid(self) -> int:
        """The process of this Neovim's server."""
        (pid,) = self.server_pids()
        return pid

    def server_pids(self) -> list[int]:
        return self.lua("return vim.api.nvim_get_proc_children(vim.fn.getpid())")

    def until(self, happened: Callable[[], Any], what: str, seconds: float = 30) -> Any:
        """The first true answer of `happened`."""
        return until(happened, what, seconds, self.report)

    def report(self) -> str:
        """Everything worth knowing when a test fails."""
        return "\n".join([*self.drawn.lines(), self.messages(), self.status(), *self.log()[-8:]])
