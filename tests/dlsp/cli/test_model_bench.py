"""`dlsp model bench`, on a stub engine."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from filelock import FileLock

from dlsp import cli
from dlsp.doctor import trial
from dlsp.engine import launch
from dlsp.models.catalogue import DEFAULT, Model
from tests.dlsp.stub_engine import MODEL, StubEngine


@pytest.fixture
def running(stub: StubEngine) -> Iterator[StubEngine]:
    """The stub holds the lock of an engine that runs."""
    with FileLock(stub.file.with_name(f"engine-{MODEL}.lock")):
        yield stub


def asked(stub: StubEngine, model: Model) -> list[dict[str, Any]]:
    async def ask() -> None:
        engine = await launch.connect(DEFAULT)
        assert engine
        async with engine:
            steps: list[None] = []
            found = await trial.trial(engine, model, lambda: steps.append(None))
            assert len(steps) == trial.steps(model)
            assert len(found.line_ms) == trial.LINES

    asyncio.run(ask())
    return stub.requests


def test_a_model_is_tried(
    running: StubEngine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The stub writes 7 tokens in 4 forwards and 142 ms, and reads 31 in 61 ms."""
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    known = {gap.prefix: gap.line for gap in trial.gaps(trial.LINES)[:3]}
    running.answer = lambda request: known.get(request["gaps"][0]["prefix"], "a + b")
    assert cli.main(["model", "bench", "0.5b"]) == 0
    said = capfd.readouterr().out
    for mode in trial.MODES:
        assert re.search(rf"^{mode} +49 tokens a second, 1\.75 a forward$", said, re.MULTILINE)
    assert re.search(r"^a line +\d+ ms \(\d+ to \d+\), its prompt cached$", said, re.MULTILINE)
    assert re.search(r"^reading +508 tokens a second$", said, re.MULTILINE)
    assert re.search(r"^memory +[\d,]+ MB$", said, re.MULTILINE)
    assert re.search(r"^exact +3 of 12 lines", said, re.MULTILINE)
    assert re.search(r"^pass@1 +not measured: set DLSP_EVAL_DIR", said, re.MULTILINE)
    assert running.file.exists(), "an engine that ran before still runs"


def test_lines_are_asked_for_with_their_prompt_cached(stub: StubEngine) -> None:
    requests = asked(stub, DEFAULT)
    lines = [each for each in requests if each["end"] == "line"]
    assert {each["mode"] for each in requests} == set(trial.MODES)
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        assert (first["max_tokens"], first["gaps"]) == (1, second["gaps"])
    gaps = trial.gaps(trial.LINES)
    assert [each["gaps"][0]["suffix"] for each in lines[::2]] == [gap.suffix for gap in gaps]
    assert all(len(gap.line) > trial.MIN_CHARACTERS and gap.suffix.startswith("\n") for gap in gaps)


def test_a_model_that_fills_no_gaps_writes_on(stub: StubEngine) -> None:
    requests = asked(stub, replace(DEFAULT, fills=False))
    assert {each["gaps"][0]["suffix"] for each in requests} == {""}


def test_a_diffusion_checkpoint_has_one_mode(stub: StubEngine) -> None:
    requests = asked(stub, replace(DEFAULT, attention="whole"))
    assert {each["mode"] for each in requests} == {"diffusion"}


def test_an_unknown_model_is_no_trial(stub: StubEngine, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "bench", "9b"]) == 1
    assert "There is no model '9b'" in capfd.readouterr().err
    assert stub.requests == []
