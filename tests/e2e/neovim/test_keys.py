"""Keys: Tab is shared, everything is reachable by <Plug>, and what the user mapped stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import PLUGIN, Neovim
from tests.e2e.texts import asked


@pytest.fixture
def configured(program: Path, stub: StubEngine, folder: Path, tmp_path: Path) -> Iterator["Configured"]:
    """Starts a Neovim with an init.lua."""
    stub.reset()
    configured = Configured(program, stub, folder / "sum.py", tmp_path / "own")
    yield configured
    configured.close()


class Configured:
    def __init__(self, program: Path, stub: StubEngine, file: Path, own: Path) -> None:
        self._program, self._stub, self._file, self._own = program, stub, file, own
        self._vim: Neovim | None = None

    def __call__(self, config: str) -> Neovim:
        self._vim = Neovim(self._program, self._own, self._file, self._stub.file.parent, config).__enter__()
        self._vim.wait_for_server()
        return self._vim

    def close(self) -> None:
        if self._vim:
            assert self._vim.errors() == ""
            self._vim.__exit__()


MAPPINGS = {
    "expression": """vim.keymap.set("i", "<Tab>", function() return "<C-R>='theirs'<CR>" end, { expr = true })""",
    "function": """vim.keymap.set("i", "<Tab>", function() vim.api.nvim_put({ "theirs" }, "c", false, true) end)""",
    "keys": """vim.keymap.set("i", "<Tab>", "theirs")""",
    "Vim script": """vim.cmd([[
      function! s:theirs()
        return "theirs"
      endfunction
      inoremap <expr> <Tab> <SID>theirs()
    ]])""",
}


@pytest.mark.parametrize("config", MAPPINGS.values(), ids=MAPPINGS)
def test_tab_does_what_it_did_when_there_is_no_suggestion(
    configured: Configured, config: str, stub: StubEngine
) -> None:
    vim = configured(config)
    vim.keys("ireturn ")
    vim.wait_for_ghost()
    vim.keys("<Tab>")
    assert vim.lines() == ["return a + b"]
    stub.answer = lambda request: ""
    vim.keys("<CR><Tab>")
    assert vim.lines() == ["return a + b", "theirs"]


def test_a_key_with_control_does_what_it_did_too(configured: Configured, stub: StubEngine) -> None:
    vim = configured("vim.keymap.set('i', '<C-]>', 'theirs'); vim.keymap.set('i', '<Tab>', '<Plug>(dlsp-accept)')")
    stub.answer = lambda request: ""
    vim.keys("ix<C-]>")
    assert vim.lines() == ["xtheirs"]
    assert vim.lua("return require('dlsp.keys').mapping('<C-]>').desc") == "dlsp: dismiss"


def test_plug_maps(configured: Configured) -> None:
    vim = configured(
        """
        local keys = { accept = false, dismiss = false, ["accept-word"] = false, ["accept-line"] = false }
        vim.g.dlsp = { settings = { suggest = "eager", model = "0.5b" }, keys = keys }
        for lhs, action in pairs({ ["<C-J>"] = "accept", ["<C-F>"] = "accept-word", ["<C-L>"] = "accept-line",
                                   ["<C-B>"] = "dismiss" }) do
          vim.keymap.set("i", lhs, "<Plug>(dlsp-" .. action .. ")")
        end
        """
    )
    vim.keys("ireturn ")
    vim.wait_for_ghost()
    vim.keys("<C-F><C-L>")
    assert vim.lines() == ["return a + b"]
    vim.keys("<CR>return ")
    vim.wait_for_ghost()
    vim.keys("<C-B><Tab>")
    assert vim.lines() == ["return a + b", "return  "]
    vim.keys("<Esc>oreturn ")
    vim.wait_for_ghost()
    vim.keys("<C-J>")
    assert vim.lines()[2] == "return a + b"
    actions = [
        "accept",
        "accept-part",
        "accept-word",
        "accept-line",
        "accept-block",
        "next",
        "previous",
        "dismiss",
        "fill",
    ]
    actions += ["instruct", "next-edit", "accept-edit", "accept-edits", "dismiss-edits"]
    assert [vim.eval(f"maparg('<Plug>(dlsp-{action})', 'i') != ''") for action in actions] == [1] * len(actions)


def test_next_and_previous(configured: Configured) -> None:
    """The server gives one suggestion a request; a server that gives three stands in for it."""
    vim = configured(
        """
        local items = { { insertText = "one" }, { insertText = "two" }, { insertText = "three" } }
        local function cmd()
          local gone = false
          return {
            request = function(method, _, answer)
              local capabilities = { inlineCompletionProvider = true, positionEncoding = "utf-8" }
              local results = {
                initialize = { capabilities = capabilities },
                ["textDocument/inlineCompletion"] = { items = items },
              }
              vim.schedule(function() answer(nil, results[method]) end)
              return true, 1
            end,
            notify = function() return true end,
            is_closing = function() return gone end,
            terminate = function() gone = true end,
          }
        end
        require("dlsp.config").cmd = function() return cmd end
        require("dlsp.client").notes = { "ready" }
        """
    )
    vim.keys("ix")
    shown = [vim.wait_for_ghost()]
    for key in ("<M-]>", "<M-]>", "<M-]>", "<M-[>"):
        vim.keys(key)
        shown.append(vim.wait_for_ghost())
    assert shown == ["one", "two", "three", "one", "three"]
    assert vim.screen()[0] == "xthree"
    vim.keys("<Tab>")
    assert vim.lines() == ["xthree"]


def test_others_are_asked_for_once_and_turned_through(configured: Configured, stub: StubEngine) -> None:
    vim = configured("vim.g.dlsp = { settings = { suggest = 'eager', model = '0.5b' }, debounce = 0 }")
    stub.answer = lambda request: ("a + b", "b + a", "a * b", "b + a", "a + b")[request.get("seed", 0)]
    vim.keys("ireturn ")
    shown = [vim.wait_for_ghost()]
    for _ in range(4):
        vim.keys("<M-]>")
        vim.until(lambda: vim.wait_for_ghost() != shown[-1], "another one is shown")
        shown.append(vim.wait_for_ghost())
    assert shown == ["a + b", "b + a", "a * b", "a + b", "b + a"]
    assert sum(each.get("n", 1) > 1 for each in stub.requests) == 1
    vim.keys("<M-[><M-[>")
    vim.until(lambda: vim.wait_for_ghost() == "a * b", "the one before it is shown")
    vim.keys("a<Tab>")
    assert vim.lines() == ["return a * b"]


def test_what_is_typed_over_for_long_comes_back_after_a_pause(configured: Configured, stub: StubEngine) -> None:
    stub.answer = lambda request: "compute_totals(first, second)"
    vim = configured("vim.g.dlsp = { settings = { model = '0.5b' } }")
    vim.lua(
        """
        Seen = {}
        vim.api.nvim_create_autocmd("TextChangedI", {
          callback = function() table.insert(Seen, require("dlsp.suggest").visible()) end,
        })
        """
    )
    vim.keys("ix = 1<CR>return ")
    vim.wait_for_ghost()
    vim.keys("compute_t")
    assert vim.lua("return Seen[#Seen]") is False, "Tab is the user's"
    assert vim.wait_for_ghost() == "otals(first, second)"
    vim.keys("otals(fi")
    assert vim.ghost() == "rst, second)", "the count began again"
    vim.keys("r")
    vim.keys("<M-]>")
    assert vim.ghost() == "st, second)", "it comes by key"
    vim.keys("<Tab>")
    assert vim.lines()[-1] == "return compute_totals(first, second)"


def test_settings_apply_without_a_restart(configured: Configured, stub: StubEngine) -> None:
    vim = configured(
        "vim.g.dlsp = { settings = { mode = 'autoregressive', suggest = 'eager', model = '0.5b' }, debounce = 0 }"
    )
    pid = vim.server_pid()
    vim.keys("ireturn ")
    vim.wait_for_ghost()
    assert asked(stub)[-1]["mode"] == "autoregressive"
    vim.keys("<C-]>")
    vim.lua(
        "require('dlsp').setup({ settings = { mode = 'diffusion', suggest = 'eager', model = '0.5b' },"
        " filetypes = { lua = false } })"
    )

    def mode() -> bool:
        vim.keys("<C-]>x")
        vim.wait_for_ghost()
        return asked(stub)[-1]["mode"] == "diffusion"

    vim.until(mode, "the server has the new settings")
    assert vim.server_pid() == pid
    vim.keys("<Esc>:set filetype=lua<CR>ox")
    assert vim.lua("return require('dlsp').statusline()") == "dlsp off"


def test_nothing_happens_without_dlsp_but_one_sentence(configured: Configured, stub: StubEngine) -> None:
    vim = configured("")
    vim.lua("Said = {}; vim.notify = function(said) table.insert(Said, said) end")
    vim.lua("require('dlsp.config').cmd = function() end")
    for _ in range(2):
        vim.lua("require('dlsp.client').start(0)")
    assert vim.lua("return Said") == ['dlsp is not installed: `pipx install "dlsp[local]"`; see `:help dlsp-install`.']
    assert vim.lua("return require('dlsp').statusline()") == "dlsp !"


def test_a_program_that_is_not_there_is_one_sentence_and_no_prompt(
    program: Path, stub: StubEngine, folder: Path, tmp_path: Path
) -> None:
    config = "vim.g.dlsp = { cmd = { '/nowhere/dlsp', 'serve', '--stdio' } }"
    with Neovim(program, tmp_path / "own", folder / "sum.py", stub.file.parent, config) as vim:
        vim.until(lambda: vim.lua("return require('dlsp').statusline()") == "dlsp !", "it is said")
        assert "dlsp is not installed" in vim.status()
        assert vim.errors() == ""


def test_settings_come_in_time_where_the_plugin_is_loaded_late(
    program: Path, stub: StubEngine, folder: Path, tmp_path: Path
) -> None:
    """As plugin managers do: the plugin's own files first, then `setup`, in a Neovim that shows a file already."""
    stub.reset()
    (folder / "sum.py").write_text("")
    config = f"vim.opt.runtimepath:remove({str(PLUGIN)!r})"
    with Neovim(program, tmp_path / "own", folder / "sum.py", stub.file.parent, config) as vim:
        vim.lua(
            """
            vim.opt.runtimepath:prepend(...)
            vim.cmd.runtime("plugin/dlsp.lua")
            require("dlsp").setup({ settings = { suggest = "eager", model = "0.5b" }, keys = { accept = "<C-J>" } })
            """,
            str(PLUGIN),
        )
        vim.wait_for_server()
        vim.keys("ireturn ")
        vim.wait_for_ghost()
        vim.keys("<C-J>")
        assert vim.lines() == ["return a + b"]
        assert "dlsp" not in vim.lua("return vim.fn.maparg('<Tab>', 'i', false, true).desc or ''")


def test_a_key_without_a_mapping_ends_an_abbreviation(configured: Configured, stub: StubEngine) -> None:
    vim = configured("pcall(vim.keymap.del, 'i', '<Tab>')")  # Neovim 0.11 has one itself, which ends none
    stub.answer = lambda request: ""
    vim.command("iabbrev teh the")
    vim.keys("iteh<Tab>x")
    assert vim.lines() == ["the x"]
