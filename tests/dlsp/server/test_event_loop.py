"""Nothing holds the event loop up: it opens no file, starts no process, waits for no lock, and computes little."""

import asyncio
import json
import os
import sys
import threading
import time
from asyncio.events import Handle
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pygls.io_ import run_async

from dlsp.edits.search.page import Page
from dlsp.server.app import App, build
from tests.dlsp.stub_engine import StubEngine

FUNCTION = (
    "def scale_{0}(values, by):\n    total = sum(values)\n    return [each * by / total for each in values]\n\n\n"
)
TEXT = "".join(FUNCTION.format(number) for number in range(300))
TYPED = "def mean(values):\n    return scale_7(values, 1 / len(values))\n"
# Processor time that one turn of the loop may take, at the 99.9th percentile. Waiting takes none, so a busy machine
# does not count.
MAX_TURN_MS = 5.0
EVENTS = ("open", "subprocess.Popen", "sqlite3.connect", "os.listdir", "os.scandir", "os.posix_spawn")

watched: list[str] = []
loops_thread = 0


def watch(event: str, arguments: Any) -> None:
    if loops_thread == threading.get_ident() and event in EVENTS:
        watched.append(f"{event} {arguments[0]!r}")


sys.addaudithook(watch)  # it cannot be taken away again; outside of these tests it sees no thread


class Pipe:
    """The editor's end of the connection, in this process."""

    def __init__(self) -> None:
        self._stream = asyncio.StreamReader()
        self.readline, self.readexactly = self._stream.readline, self._stream.readexactly
        self.answers: dict[Any, asyncio.Future[Any]] = {}
        self.version = 1

    def send(self, method: str, params: Any, id: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": id} if id is not None else {})
        body = json.dumps(message).encode()
        self._stream.feed_data(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def ask(self, method: str, params: Any) -> Any:
        id = f"{method} {len(self.answers)}"
        self.answers[id] = asyncio.get_running_loop().create_future()
        self.send(method, params, id)
        return await asyncio.wait_for(self.answers[id], 30)

    def write(self, content: bytes) -> None:
        message = json.loads(content.partition(b"\r\n\r\n")[2])
        if "method" not in message and not self.answers[message["id"]].done():
            self.answers[message["id"]].set_result(message.get("result"))

    def close(self) -> None:
        self._stream.feed_eof()


class Editor:
    def __init__(self, pipe: Pipe, folder: Path) -> None:
        self.pipe, self.uri, self.version = pipe, (folder / "mean.py").as_uri(), 1

    async def begin(self) -> None:
        folder = Path(self.uri.removeprefix("file://")).parent
        inline = {"textDocument": {"inlineCompletion": {}}}
        await self.pipe.ask("initialize", {"capabilities": inline, "rootUri": folder.as_uri()})
        self.pipe.send("initialized", {})
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": TEXT}
        self.pipe.send("textDocument/didOpen", {"textDocument": document})

    def type(self, line: int, character: int, text: str) -> None:
        self.version += 1
        here = {"line": line, "character": character}
        change = {"range": {"start": here, "end": here}, "text": text}
        document = {"uri": self.uri, "version": self.version}
        self.pipe.send("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    async def complete(self, line: int, character: int) -> list[Any]:
        place = {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": character}}
        answer = await self.pipe.ask("textDocument/inlineCompletion", place | {"context": {"triggerKind": 2}})
        return answer["items"]


@pytest_asyncio.fixture
async def editor(tmp_path: Path, stub: StubEngine, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Editor]:
    """One whose folder is a repository of a slow git, on a machine where files are slow to look at, too."""
    project, program = tmp_path / "project", tmp_path / "bin" / "git"
    (project / ".git").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[tool.dlsp]\nmode = "verified"\n')
    (project / "mean.py").write_text(TEXT)
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 0.5\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    app: App = build()
    pipe = Pipe()
    app.server.protocol.set_writer(pipe)  # type: ignore[arg-type]
    stop = threading.Event()
    serving = asyncio.create_task(run_async(stop, pipe, app.server.protocol))  # type: ignore[arg-type]
    editor = Editor(pipe, project)
    await editor.begin()
    async with asyncio.timeout(60):
        while not await editor.complete(0, 0) and not stub.asked:
            await asyncio.sleep(0.02)
    yield editor
    pipe.close()
    await serving
    await app.close()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    """Milliseconds of processor time of each turn of the loop, and what it ran."""
    took: list[tuple[float, str]] = []
    run = Handle._run

    def timed(handle: Handle) -> None:
        began = time.thread_time()
        run(handle)
        took.append((1e3 * (time.thread_time() - began), repr(handle)))

    monkeypatch.setattr(Handle, "_run", timed)
    return took


@pytest.fixture
def loop_is_watched() -> Iterator[list[str]]:
    global loops_thread
    watched.clear()
    loops_thread = threading.get_ident()
    yield watched
    loops_thread = 0


async def use(editor: Editor) -> None:
    """Type, ask for next edits, for code actions and for a body."""
    line = TEXT.count("\n")
    for number, char in enumerate(TYPED):
        row, column = TYPED[:number].count("\n"), number - (TYPED.rfind("\n", 0, number) + 1)
        editor.type(line + row, column, char)
        end = (line + row + 1, 0) if char == "\n" else (line + row, column + 1)
        await editor.complete(*end)
    editor.type(2, 4, "up_")
    await editor.pipe.ask("dlsp/edits", {"textDocument": {"uri": editor.uri}})
    editor.type(line, 0, "def later():\n    ...\n\n\n")
    body = {"textDocument": {"uri": editor.uri}, "position": {"line": line + 1, "character": 4}}
    assert await editor.pipe.ask("dlsp/fill", body)


async def test_no_file_and_no_process(editor: Editor, loop_is_watched: list[str]) -> None:
    await use(editor)
    assert loop_is_watched == []


async def test_no_settings_file_is_looked_at(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a request, in a thread."""
    mine, looked, stat = threading.get_ident(), list[str](), Path.stat

    def counted(path: Path, **more: Any) -> os.stat_result:
        if path.name == "pyproject.toml":
            assert threading.get_ident() != mine
            looked.append(str(path))
        return stat(path, **more)

    monkeypatch.setattr(Path, "stat", counted)
    editor.type(0, 0, "#")
    await editor.complete(0, 1)
    assert len(looked) == 1


async def test_a_keystroke_is_handed_to_threads_twice(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to look at the settings' files, once to trim what the engine answers."""
    handed, submit = list[str](), ThreadPoolExecutor.submit

    def counted(executor: ThreadPoolExecutor, *given: Any, **more: Any) -> Any:
        handed.append(repr(given))
        return submit(executor, *given, **more)

    await editor.complete(0, 0)
    line = TEXT.count("\n")
    for column, char in enumerate("x = "):
        editor.type(line, column, char)
        await editor.complete(line, column + 1)  # the session has its anchor
    monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
    editor.type(line, 4, "y")
    await editor.complete(line, 5)
    assert len(handed) == 2, handed


async def test_what_a_search_for_edits_made_is_freed_in_a_thread(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tokens and names are many: freed at once, at the end of the answer, they would hold the loop up."""
    mine, freed, release = threading.get_ident(), asyncio.Event(), Page.release
    loop = asyncio.get_running_loop()

    def noted(page: Page) -> None:
        assert threading.get_ident() != mine
        assert page.tokens
        release(page)
        assert vars(page).keys() <= {each.name for each in fields(page)}
        loop.call_soon_threadsafe(freed.set)

    monkeypatch.setattr(Page, "release", noted)
    await use(editor)
    await asyncio.wait_for(freed.wait(), 30)


async def test_little_is_computed(editor: Editor, turns: list[tuple[float, str]]) -> None:
    await use(editor)
    assert len(turns) > 1000
    ranked = sorted(turns, reverse=True)
    assert ranked[len(turns) // 1000][0] < MAX_TURN_MS, ranked[:5]
