"""The sources for blink.cmp and nvim-cmp, in a real Neovim: called as their documentation says, without the plugins."""

from typing import Any

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.neovim.neovim import Neovim
from tests.e2e.texts import asked

# What the menus do: ask a source, insert the text of an item, tell the source.
ASK = {
    "blink": """
        Source = require("dlsp.blink").new({}, { name = "dlsp", module = "dlsp.blink" })
        Cancel = Source:get_completions({ trigger = { kind = ... } }, function(response) Response = response end)
    """,
    "cmp": """
        Source = require("dlsp.cmp").new()
        Source:complete({ context = { option = { reason = ... } } }, function(response) Response = response end)
    """,
}
TAKE = {
    "blink": "Source:execute({}, item, function() Done = true end, insert)",
    "cmp": "insert(); Source:execute(item, function() Done = true end)",
}

# Notes what the server is told.
NOTED = """
    local client = require("dlsp.client")
    local notify = client.notify
    Told, Restore = {}, function() client.notify = notify end
    client.notify = function(buf, method, params)
      table.insert(Told, { method, params })
      notify(buf, method, params)
    end
"""


def response(vim: Neovim, menu: str, reason: str = "auto") -> dict[str, Any]:
    vim.lua(f"Response, Done = nil, nil; {ASK[menu]}", reason)
    vim.until(lambda: vim.lua("return Response ~= nil"), "the source answers")
    return vim.lua("return Response")


def take(vim: Neovim, menu: str) -> None:
    vim.lua(
        f"""
        local item, buf = vim.deepcopy(Response.items[1]), vim.api.nvim_get_current_buf()
        local function insert() vim.lsp.util.apply_text_edits({{ item.textEdit }}, buf, "utf-8") end
        {TAKE[menu]}
        """
    )
    assert vim.lua("return Done")


@pytest.mark.parametrize("menu", ASK)
def test_a_suggestion_is_an_item_that_completes_the_word(manners: Neovim, stub: StubEngine, menu: str) -> None:
    stub.answer = lambda request: "al_é = 1"
    manners.keys("iñ = 0; tot")
    manners.wait_for_ghost()
    (item,) = response(manners, menu)["items"]
    assert (item["label"], item["filterText"], item["detail"]) == ("total_é = 1", "total_é = 1", "dlsp")
    assert "documentation" not in item
    take(manners, menu)
    assert manners.lines() == ["ñ = 0; total_é = 1"]


@pytest.mark.parametrize("menu", ASK)
def test_an_item_replaces_closers(manners: Neovim, stub: StubEngine, menu: str) -> None:
    stub.answer = lambda request: "al, rest):"
    manners.keys("idef add(tot)<Left>")
    manners.wait_for_ghost()
    (item,) = response(manners, menu)["items"]
    assert item["label"] == "total, rest):"
    take(manners, menu)
    assert manners.lines() == ["def add(total, rest):"]


@pytest.mark.parametrize("menu", ASK)
def test_the_label_counts_the_lines_that_are_shown_beside_it(manners: Neovim, stub: StubEngine, menu: str) -> None:
    stub.answer = lambda request: "f():\n    return 1"
    manners.keys("idef ")
    manners.wait_for_ghost()
    (item,) = response(manners, menu)["items"]
    assert item["label"] == "f(): … +1"
    assert item["documentation"]["value"] == "````python\nf():\n    return 1\n````"
    take(manners, menu)
    assert manners.lines() == ["def f():", "    return 1"]


def test_the_server_is_asked_again_at_each_key_and_knows_who_asked(manners: Neovim, stub: StubEngine) -> None:
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    automatic = response(manners, "blink", "keyword")
    assert automatic["is_incomplete_forward"]
    assert automatic["is_incomplete_backward"]
    assert response(manners, "cmp", "manual")["isIncomplete"]


@pytest.mark.parametrize("menu", ASK)
def test_there_are_no_items_where_there_is_no_suggestion(manners: Neovim, stub: StubEngine, menu: str) -> None:
    stub.answer = lambda request: ""
    manners.keys("ix")
    assert response(manners, menu)["items"] == []
    manners.command("Dlsp toggle")
    number = len(asked(stub))
    assert response(manners, menu)["items"] == []
    assert len(asked(stub)) == number
    manners.command("Dlsp toggle")


def test_the_sources_say_where_they_are_and_when_they_are_asked(manners: Neovim) -> None:
    manners.keys("ix<Esc>")
    assert manners.lua("return require('dlsp.blink').new():enabled()")
    assert manners.lua("return require('dlsp.cmp').new():is_available()")
    assert manners.lua("return require('dlsp.cmp').new():get_position_encoding_kind()") == "utf-8"
    for module in ("blink", "cmp"):
        assert "." in manners.lua(f"return require('dlsp.{module}').new():get_trigger_characters()")
    manners.command("enew")
    assert not manners.lua("return require('dlsp.blink').new():enabled()")


@pytest.mark.parametrize("menu", ASK)
def test_what_is_taken_from_the_menu_was_accepted(manners: Neovim, stub: StubEngine, menu: str) -> None:
    manners.lua(NOTED)
    manners.keys("ireturn ")
    manners.wait_for_ghost()
    response(manners, menu)
    take(manners, menu)
    manners.lua("Restore()")
    method, params = manners.lua("return Told[#Told]")
    assert method == "textDocument/didPartiallyAcceptCompletion"
    assert (params["item"]["insertText"], params["acceptedLength"]) == ("a + b", 5)
    assert params["item"]["id"]
