"""What the session of an editor keeps of its documents."""

import asyncio
from pathlib import Path

from lsprotocol import types
from pygls.workspace import Workspace

from dlsp.completions.worker import Worker
from dlsp.server.client import Client
from dlsp.server.documents import Documents
from dlsp.server.protocol import Server
from dlsp.server.session import Session


async def test_a_closed_cell_leaves_the_notebooks_tree_to_the_others(tmp_path: Path) -> None:
    server = Server()
    server.lsp.keep(Documents(Workspace(tmp_path.as_uri())))
    session = Session(server, Client(server), Worker())
    session.settings.set_initial({"suggest": "off"})  # no index
    cells = [f"vscode-notebook-cell:{tmp_path.as_posix()}/n.ipynb#{cell}" for cell in "AB"]
    for cell in cells:
        server.workspace.put_text_document(types.TextDocumentItem(cell, "python", 1, "x = 1\n"))
    snapshot = await session.snapshot_for_request(cells[0])
    assert snapshot
    tree = await session.worker(snapshot.workspace.source, snapshot.path, snapshot.language)
    assert tree
    server.workspace.remove_text_document(cells[1])
    session.forget(cells[1])
    assert await session.worker(snapshot.workspace.source, snapshot.path, snapshot.language) is tree
    server.workspace.remove_text_document(cells[0])
    session.forget(cells[0])
    assert await session.worker(snapshot.workspace.source, snapshot.path, snapshot.language) is not tree
    await asyncio.wait_for(session.close(), 30)
