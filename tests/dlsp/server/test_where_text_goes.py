"""Where text goes, as editors are told, and as the sockets of the server show that are really open."""

import sys
from pathlib import Path

import psutil
import pytest

from dlsp.doctor.engine import sockets_beyond
from dlsp.engine import state
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

TEXT = "def add(a, b):\n    return \n"


async def test_the_status_says_where_text_goes(stub: StubEngine, tmp_path: Path) -> None:
    (folder := tmp_path / "project").mkdir()
    uri = (folder / "sums.py").as_uri()
    async with Editor(folder) as editor:
        editor.open(uri, TEXT)
        await editor.ready(uri)
        assert await editor.suggestion(uri, 1, 11)
        destinations = [status.destination for status in editor.statuses]
        assert destinations[0] == "", "nowhere as long as no engine is known"
        assert destinations[-1] == "this machine"
        server = psutil.Process(editor.client._server.pid)  # type: ignore[union-attr]
        family = [server, *server.children(recursive=True)]
        assert [sockets_beyond(each.pid) for each in family] == [[]] * len(family)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which Unix sockets are connected")
async def test_the_server_has_no_network_socket_at_all(stub: StubEngine, tmp_path: Path) -> None:
    """It talks to the engine named by the state file, over a Unix socket in the user's own folder."""
    (folder := tmp_path / "project").mkdir()
    uri = (folder / "sums.py").as_uri()
    async with Editor(folder) as editor:
        editor.open(uri, TEXT)
        await editor.ready(uri)
        assert await editor.suggestion(uri, 1, 11)
        server = psutil.Process(editor.client._server.pid)  # type: ignore[union-attr]
        for each in (server, *server.children(recursive=True)):
            assert each.net_connections(kind="inet") == []
        found = state.read(DEFAULT.name)
        assert found
        assert found.address == stub.address
        assert stub.clients, "it was that engine that was asked"
