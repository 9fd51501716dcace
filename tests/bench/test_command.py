"""What the benches' commands share: how they end, and the engines that they start."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Iterator

import psutil
import pytest

from bench.command import KEPT, at_least, guarded, line, own_engine, until_stopped
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from dlsp_engine.errors import EngineError
from tests.dlsp import stub_engine


@pytest.mark.parametrize(
    ("raised", "status", "sentence"),
    [
        (UserError("There is no model."), 2, "There is no model.\n"),
        (EngineError("There is no int8."), 2, "There is no int8.\n"),
        (OSError(28, "No space left on device", "a.json"), 2, "[Errno 28] No space left on device: 'a.json'\n"),
        (KeyboardInterrupt(), 130, f"{KEPT}\n"),
    ],
)
def test_a_command_ends_with_a_sentence(raised: BaseException, status: int, sentence: str, capsys) -> None:
    @guarded(KEPT)
    def main() -> int:
        raise raised

    assert main() == status
    assert capsys.readouterr().err == sentence


def test_the_recorded_command_has_every_option() -> None:
    parser = argparse.ArgumentParser("python -m bench.start")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--model", default="0.5b")
    assert line(parser, parser.parse_args(["--runs", "2"])) == "python -m bench.start --runs 2 --model 0.5b"


@pytest.mark.parametrize("given", ["0", "-3", "many"])
def test_a_count_that_is_none_is_refused_before_anything_is_loaded(given: str, capsys) -> None:
    parser = argparse.ArgumentParser("python -m bench.start")
    parser.add_argument("--runs", type=at_least(1))
    assert parser.parse_args(["--runs", "1"]).runs == 1
    with pytest.raises(SystemExit):
        parser.parse_args(["--runs", given])
    assert "argument --runs" in capsys.readouterr().err


def test_what_was_found_before_it_was_stopped_counts(capsys) -> None:
    def found(ends_at: int) -> Iterator[int]:
        for number in range(3):
            if number == ends_at:
                signal.raise_signal(signal.SIGTERM)
            yield number

    before = signal.getsignal(signal.SIGTERM)
    try:
        assert until_stopped(found(9), "finding", 3) == [0, 1, 2]
        assert until_stopped(found(2), "finding", 3) == [0, 1]
        assert "Stopped after 2 of 3" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            until_stopped(found(0), "finding", 3)
    finally:
        signal.signal(signal.SIGTERM, before)


async def test_an_engine_of_ones_own_ends_with_the_bench_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(*_: object) -> list[str]:
        return [sys.executable, stub_engine.__file__, "--state", os.environ["DLSP_STATE_DIR"]]

    monkeypatch.setenv("DLSP_STATE_DIR", "")  # put back after the test
    monkeypatch.setattr(launch, "serve_command", command)
    pids: list[int] = []

    async def failing() -> None:
        async with own_engine(DEFAULT) as engine:
            pids.append(engine.state.pid)
            assert psutil.pid_exists(pids[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()
    for _ in range(100):
        if not psutil.pid_exists(pids[0]) or psutil.Process(pids[0]).status() == psutil.STATUS_ZOMBIE:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the engine goes on")
