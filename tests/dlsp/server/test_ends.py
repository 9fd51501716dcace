"""Ways in which a server ends: what it has learned of its user stays, and no process of it does."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from dlsp.completions import accepts
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import COST, StubEngine

TEXT = "def add(a, b):\n    return \n"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
@pytest.mark.parametrize("how", ["told by a signal", "the input ends"])
async def test_what_was_learned_stays(stub: StubEngine, state_folder: Path, tmp_path: Path, how: str) -> None:
    fill = {"event": "fill", "gap": 0, "text": "a + b", "reason": "line", "cost": COST, "confidence": [[5, -0.01]]}
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (fill, {"event": "done"}))
    (tmp_path / "project").mkdir()
    uri = (tmp_path / "project" / "sums.py").as_uri()
    async with Editor(tmp_path / "project") as editor:
        editor.open(uri, TEXT)
        await editor.ready(uri)
        item: Any = (await editor.ask(uri, 1, 11)).items[0]
        said = {"item": {"insertText": item.insert_text}}
        editor.client.protocol.notify("textDocument/didShowCompletion", said)
        length = len(item.insert_text)
        editor.client.protocol.notify("textDocument/didPartiallyAcceptCompletion", said | {"acceptedLength": length})
        editor.type(uri, 1, 11, item.insert_text)
        await editor.ask(uri, 1, 11 + length)  # now it has read all of this
        server = editor.client._server
        assert server is not None
        children = psutil.Process(server.pid).children(recursive=True)
        assert not (state_folder / "manners.json").exists()
        if how == "told by a signal":
            server.send_signal(signal.SIGTERM)
        else:
            assert server.stdin is not None
            server.stdin.close()
        assert await asyncio.wait_for(server.wait(), 20) == 0
    assert json.loads((state_folder / "manners.json").read_text())["python"] > 0
    assert accepts.total(2) == (1, len("a + b"))
    _, left = psutil.wait_procs(children, 5)
    assert not left
