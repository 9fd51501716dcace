"""Find an engine or start one, with the stub engine as the process that is started."""

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from dlsp import __version__
from dlsp.engine import launch, state
from dlsp.engine.client import SILENCE_TIMEOUT_S, EngineSilent
from dlsp.engine.launch import Log
from dlsp.engine.versions import API
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from dlsp.models.store import ModelMissing
from tests.dlsp import stub_engine
from tests.dlsp.stub_engine import StubEngine

Starting = Callable[..., None]

# What other programs may take of the time in which something has to happen.
BUSY_S = 5


@pytest.fixture
async def starting(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Starting]:
    """Say what the process is like that the next start brings up; it is ended after the test."""

    def starting(**options: object) -> None:
        given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        command = [sys.executable, stub_engine.__file__, "--state", str(state_folder), *given]
        monkeypatch.setattr(launch, "serve_command", lambda *_: command)

    starting()
    yield starting
    await launch.stop(DEFAULT)
    for process in psutil.process_iter(["cmdline"]):  # of two that started at once, one may have waited for the end
        if str(state_folder) in (process.info["cmdline"] or ()):
            process.kill()


def freeze(pid: int) -> None:
    """On a busy machine it takes a moment until a process that was told to stop has stopped."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + BUSY_S
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_start_and_stop(starting: Starting) -> None:
    said: list[str] = []
    assert await launch.connect(DEFAULT) is None
    async with await launch.ensure(DEFAULT, said.append) as engine:
        assert (await engine.fill({"gaps": []}))["text"] == "a + b"
        assert os.getsid(engine.state.pid) == engine.state.pid != os.getsid(0), "it outlives its client"
    assert said == ["loading the weights"]
    assert await launch.stop(DEFAULT)
    assert not state.alive(DEFAULT.name)
    assert not await launch.stop(DEFAULT)


async def test_an_engine_is_started_as_asked(starting: Starting, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    command = launch.serve_command(DEFAULT)
    monkeypatch.setattr(launch, "serve_command", lambda _, *how: asked.append(how) or command)
    async with await launch.ensure(DEFAULT, threads=3, infill_update=False):
        assert asked == [(3, False)]


async def test_one_engine_for_all_who_want_it(starting: Starting) -> None:
    starting(load=3)
    first = asyncio.create_task(launch.ensure(DEFAULT))
    while not state.alive(DEFAULT.name):
        await asyncio.sleep(0.02)
    starting(fail="A second engine was started.")
    engines = await asyncio.gather(first, *(launch.ensure(DEFAULT) for _ in range(2)))
    assert len({engine.state.pid for engine in engines}) == 1
    for engine in engines:
        await engine.close()


async def test_two_that_start_at_once_share_the_engine(starting: Starting) -> None:
    starting(load=0.5)
    engine, other = await asyncio.gather(launch.ensure(DEFAULT), launch.ensure(DEFAULT))
    assert engine.state == other.state
    await engine.close()
    await other.close()


async def test_a_dead_start_says_why(starting: Starting) -> None:
    starting(fail="The weights are damaged: run `dlsp model verify`.")
    with pytest.raises(UserError, match="did not start: The weights are damaged: run `dlsp model verify`"):
        await launch.ensure(DEFAULT)


async def test_a_start_that_could_not_say_why(starting: Starting, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(launch, "serve_command", lambda *_: [sys.executable, "-c", "raise SystemExit(1)"])
    with pytest.raises(UserError, match="it gave no reason"):
        await launch.ensure(DEFAULT)
    monkeypatch.setattr(launch, "probe", full)
    with pytest.raises(UserError, match=r"nothing can be written to .* \(No space left on device\): free some space"):
        await launch.ensure(DEFAULT)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
async def test_a_start_that_was_killed_says_so(starting: Starting, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system does when memory is short: what was said last is progress, and no reason."""
    code = "import os; print('quantising layer 4 of 24', flush=True); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(launch, "serve_command", lambda *_: [sys.executable, "-c", code])
    with pytest.raises(UserError, match=r"did not start: it was killed after 'quantising layer 4 of 24': .*memory"):
        await launch.ensure(DEFAULT)


async def test_a_log_that_cannot_be_read_or_written_is_one_sentence(starting: Starting) -> None:
    """As one is that somebody else made, who ran dlsp here once."""
    state.log(DEFAULT.name).mkdir()
    with pytest.raises(UserError, match=r"could not be started \(Is a directory; its log is .*DLSP_STATE_DIR"):
        await launch.ensure(DEFAULT)


async def test_the_wait_ends(starting: Starting) -> None:
    starting(load=1.5)
    with pytest.raises(UserError, match="not ready after"):
        await launch.ensure(DEFAULT, within=0.3)
    await (await launch.ensure(DEFAULT)).close()  # for the fixture to end it


async def test_it_waits_for_as_long_as_an_engine_tells_of_its_progress(
    starting: Starting, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = [sys.executable, stub_engine.__file__, "--state", str(state_folder)]
    code = (
        "import os, sys, time\n"
        "for layer in range(11):\n"
        "    print(f'quantising layer {layer} of 11', flush=True)\n"
        "    time.sleep(0.4)\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    monkeypatch.setattr(launch, "serve_command", lambda *_: [sys.executable, "-c", code, *stub])
    told: list[str] = []
    async with await launch.ensure(DEFAULT, told.append, within=4) as engine:
        assert (await engine.fill({"gaps": []}))["text"] == "a + b"
    assert told[:11] == [f"quantising layer {layer} of 11" for layer in range(11)]


async def test_an_engine_of_another_version_is_replaced(starting: Starting, state_folder: Path) -> None:
    with StubEngine(state_folder, version="0.0.1") as old:
        assert await launch.connect(DEFAULT) is None
        async with await launch.ensure(DEFAULT) as engine:
            assert engine.state.nonce != old.nonce
        assert not old.thread.is_alive()


async def test_an_older_engine_that_came_first_is_replaced(starting: Starting, state_folder: Path) -> None:
    command = [sys.executable, stub_engine.__file__, "--state", str(state_folder)]
    with subprocess.Popen([*command, "--load", "0.5", "--version", "0.0.1"]) as older:
        while not state.alive(DEFAULT.name):
            await asyncio.sleep(0.02)
        async with await launch.ensure(DEFAULT, within=20) as engine:
            assert engine.state.version == __version__
        assert older.wait(5) == 0


@pytest.mark.parametrize("version", ["0.0.1", __version__])
async def test_an_engine_that_cannot_prove_itself_is_replaced(
    starting: Starting, state_folder: Path, version: str
) -> None:
    """As those of before there was a proof, which listen on a port: they are told nothing, not even to end."""
    command = [sys.executable, stub_engine.__file__, "--state", str(state_folder)]
    with subprocess.Popen([*command, "--tcp", "--unproved", "--version", version]) as older:
        while state.read(DEFAULT.name) is None:
            await asyncio.sleep(0.02)
        assert await launch.connect(DEFAULT) is None
        async with await launch.ensure(DEFAULT, within=20) as engine:
            assert engine.state.pid != older.pid
            assert (await engine.fill({"gaps": []}))["text"] == "a + b"
        older.wait(5)


async def test_a_newer_engine_is_used_while_it_is_understood(state_folder: Path) -> None:
    with StubEngine(state_folder, version="99.0") as newer:
        written = json.loads(newer.file.read_text())
        with pytest.raises(UserError, match=r"A newer dlsp \(99.0\) has the engine"):
            await launch.ensure(DEFAULT)
        assert newer.thread.is_alive()
        newer.file.write_text(json.dumps(written | {"api": API}))
        async with await launch.ensure(DEFAULT) as engine:
            assert engine.state.nonce == newer.nonce


async def test_an_engine_that_has_stopped_answering_is_replaced(starting: Starting) -> None:
    async with await launch.ensure(DEFAULT) as engine:
        frozen = engine.state
    freeze(frozen.pid)
    began = time.monotonic()
    async with await launch.ensure(DEFAULT) as engine:
        assert engine.state.pid != frozen.pid
    assert time.monotonic() - began < 8 + BUSY_S
    assert not psutil.pid_exists(frozen.pid) or psutil.Process(frozen.pid).status() == psutil.STATUS_ZOMBIE


async def test_an_engine_that_freezes_at_work_is_known_and_ended_in_seconds(starting: Starting) -> None:
    async with await launch.ensure(DEFAULT) as engine:
        assert not await launch.end_silent(DEFAULT, engine.state), "it answers"
        freeze(engine.state.pid)
        began = time.monotonic()
        with pytest.raises(EngineSilent):
            await engine.fill({"gaps": []})
        assert await launch.end_silent(DEFAULT, engine.state)
        assert time.monotonic() - began < SILENCE_TIMEOUT_S + launch.LAST_CHANCE_S + BUSY_S
    assert not state.alive(DEFAULT.name)


async def test_a_stale_state_file_does_not_endanger_another_process(starting: Starting, state_folder: Path) -> None:
    """Neither its process, whose number somebody else has now, nor an engine that is loading."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    try:
        stale = {"address": "http://127.0.0.1:1", "token": "t", "nonce": "n", "pid": other.pid, "model": DEFAULT.name}
        stale |= {"version": __version__, "started": time.time() - 3600}
        (state_folder / f"engine-{DEFAULT.name}.json").write_text(json.dumps(stale))
        starting(load=1)
        first, second = await asyncio.gather(launch.ensure(DEFAULT), launch.ensure(DEFAULT))
        assert first.state.pid == second.state.pid
        assert other.poll() is None
        await first.close()
        await second.close()
    finally:
        other.kill()
        other.wait()


async def test_stop_ends_an_engine_that_does_not_answer(starting: Starting) -> None:
    async with await launch.ensure(DEFAULT) as engine:
        freeze(engine.state.pid)
    assert await launch.stop(DEFAULT)
    assert not state.alive(DEFAULT.name)


async def test_another_process_on_the_port_is_not_the_engine(stub: StubEngine) -> None:
    written = json.loads(stub.file.read_text())
    stub.file.write_text(json.dumps(written | {"nonce": "of an engine that is gone"}))
    assert await launch.connect(DEFAULT) is None


async def test_a_missing_model(state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.raises(ModelMissing, match="dlsp model pull"):
        await launch.ensure(DEFAULT)


def test_following_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("an earlier run\n")
    log = Log(path)
    with path.open("a") as file:
        file.write("loading 10%\rloading 90%\r\n\nhalf a li")
        file.flush()
        assert log.news() == ["loading 10%", "loading 90%"]
        file.write("ne\n")
    assert log.news() == ["half a line"]
    assert log.news() == []
    assert log.last == "half a line"


def test_following_a_log_that_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a long line of an earlier run\n" * 10)
    log = Log(path)
    path.write_text("loading\n")
    assert log.news() == ["loading"]
