"""The protocol through pytest-lsp's client, which knows the specification and is not ours."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from tests.dlsp.stub_engine import StubEngine

URI = "file:///project/sum.py"


@pytest_asyncio.fixture(params=["visual_studio_code", "neovim", "emacs"])
async def client(request: pytest.FixtureRequest, stub: StubEngine) -> AsyncIterator[LanguageClient]:
    """Initialized as this editor would."""
    client = make_test_lsp_client()

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        assert [each.method for each in params.registrations] == [types.WORKSPACE_DID_CHANGE_CONFIGURATION]

    await client.start_io(sys.executable, "-m", "dlsp", "serve", "--stdio")
    capabilities = client_capabilities(request.param)
    root = types.WorkspaceFolder(Path("/project").as_uri(), "project")
    await client.initialize_session(types.InitializeParams(capabilities, workspace_folders=[root]))
    yield client
    await client.shutdown_session()


async def test_a_session(client: LanguageClient, stub: StubEngine) -> None:
    document = types.TextDocumentItem(URI, "python", 1, "def add(a, b):\n    return \n")
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    position = types.Position(1, 11)
    asked = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(URI),
        position,
    )
    items = await offered(client, asked)
    while not items:  # the engine has to be found first
        await asyncio.sleep(0.02)
        items = await offered(client, asked)
    assert items[0] == types.InlineCompletionItem("a + b", range=types.Range(position, position))
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
    assert not await offered(client, asked)


async def test_the_menu(client: LanguageClient, stub: StubEngine) -> None:
    """None of these asks for ghost text."""
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "python", 1, "def add(a, b):\n    return \n"))
    )
    position = types.Position(1, 11)
    asked = types.CompletionParams(types.TextDocumentIdentifier(URI), position)
    found = await client.text_document_completion_async(asked)
    while isinstance(found, types.CompletionList) and not found.items:  # the engine has to be found first
        await asyncio.sleep(0.02)
        found = await client.text_document_completion_async(asked)
    assert isinstance(found, types.CompletionList)
    assert [each.text_edit for each in found.items] == [types.TextEdit(types.Range(position, position), "a + b")]


async def offered(client: LanguageClient, asked: types.InlineCompletionParams) -> Sequence[types.InlineCompletionItem]:
    found = await client.text_document_inline_completion_async(asked)
    assert isinstance(found, types.InlineCompletionList)
    return found.items
