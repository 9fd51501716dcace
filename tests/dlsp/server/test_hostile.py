"""A folder that was made to do harm costs bounded time and memory, and leaves no process."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.dlsp.editor import Editor
from tests.dlsp.server.hostile import LONG_NAME, TEXT, WORKSPACES, write
from tests.dlsp.stub_engine import StubEngine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and devices")

SUGGESTION_S, SHUTDOWN_S, END_S = 2, 1, 1
MOST_MB = 300
# Rules that are more than are read exclude everything: there is an answer, and it is no suggestion.
EXCLUDED = {"100,000 patterns", "10,000 patterns", "a pattern of 50 MB"}
# Hands a number to the report of `make prove`.
Record = Callable[[str, object], None]
SAMPLE = random.Random(5).sample(list(WORKSPACES), 10)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "project"
    subprocess.run(["rm", "-rf", str(tmp_path / "project")], check=True)  # pytest's own way is too deep for Python


def memory_mb(processes: list[psutil.Process]) -> float:
    """Of all together, what they share counted once for each."""
    return sum(each.memory_info().rss for each in processes if each.is_running()) / 1e6


def living(processes: list[psutil.Process]) -> list[psutil.Process]:
    """A zombie has ended: its server, which would have taken note, is dead."""
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


async def suggestion_s(editor: Editor, uri: str) -> float:
    """Seconds until there is one, or until there was none for as long as it may take."""
    began = time.monotonic()
    while time.monotonic() - began < SUGGESTION_S:
        if await editor.suggestion(uri, 1, 11):
            break
        await asyncio.sleep(0.02)
    return time.monotonic() - began


async def check(name: str, folder: Path, record: Record) -> None:
    if "clone" not in name:
        folder.mkdir()
        write(folder, "ok.py")
    WORKSPACES[name](folder)
    elsewhere = "file:///elsewhere/a.py"
    async with Editor(folder) as editor:
        editor.open(elsewhere, TEXT)
        await editor.ready(elsewhere)
        server = psutil.Process(editor.client._server.pid)  # type: ignore[union-attr]
        hostile = next(folder.glob("[oO]pen.*"), folder / LONG_NAME)
        content = hostile.read_text() if hostile.exists() else TEXT
        editor.open(hostile.as_uri(), content)
        other = editor.ask(hostile.as_uri(), 0, len(content.partition("\n")[0]))
        editor.open((folder / "ok.py").as_uri(), TEXT)
        took = await suggestion_s(editor, (folder / "ok.py").as_uri())
        excluded = name in EXCLUDED
        assert "than are read" in editor.answers[-1]["note"] if excluded else took < SUGGESTION_S, editor.answers
        if not excluded:
            record("suggestion_s", round(took, 3))
        await asyncio.wait_for(other, SUGGESTION_S)
        everything = [server, *server.children(recursive=True)]
        assert len(everything) > 1, "there is an index"
        record("memory_mb", round(used := memory_mb(everything[:1]), 1))
        assert used < MOST_MB
        began = time.monotonic()
        await editor.client.shutdown_async(None)
        record("shutdown_s", round(took := time.monotonic() - began, 3))
        assert took < SHUTDOWN_S
        server.kill()
        await asyncio.to_thread(psutil.wait_procs, everything[1:], END_S)
        assert living(everything[1:]) == []
        await server_ended(editor)


async def server_ended(editor: Editor) -> None:
    async with asyncio.timeout(10):
        while editor.client._server.returncode is None:  # type: ignore[union-attr]
            await asyncio.sleep(0.01)


async def killed(name: str, folder: Path, stub: StubEngine) -> None:
    """A server that dies leaves no process, whatever its index is caught in."""
    folder.mkdir()
    write(folder, "ok.py")
    WORKSPACES[name](folder)
    async with Editor(folder) as editor:
        uri = (folder / "ok.py").as_uri()
        editor.open(uri, TEXT)
        await editor.ready(uri)
        server = psutil.Process(editor.client._server.pid)  # type: ignore[union-attr]
        async with asyncio.timeout(10):
            while not server.children():
                await editor.suggestion(uri, 1, 11)
        await asyncio.sleep(0.5)  # it has begun
        children = server.children(recursive=True)
        server.kill()
        await asyncio.to_thread(psutil.wait_procs, children, END_S)
        assert living(children) == []
        await server_ended(editor)


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.usefixtures("stub")
async def test_a_sample(name: str, folder: Path, record_property: Record) -> None:
    await check(name, folder, record_property)


@pytest.mark.prove
@pytest.mark.parametrize("name", WORKSPACES)
@pytest.mark.usefixtures("stub")
async def test_all(name: str, folder: Path, record_property: Record) -> None:
    await check(name, folder, record_property)


@pytest.mark.parametrize("name", ["stars, not open", "Bash that parses for half a minute", "rules in each folder"])
async def test_a_killed_server_leaves_no_process(name: str, folder: Path, stub: StubEngine) -> None:
    await killed(name, folder, stub)
