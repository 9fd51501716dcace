"""The bench of faults, without any."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import results
from bench.faults import __main__ as command
from bench.faults.rounds import Round


class World:
    async def __aenter__(self) -> SimpleNamespace:
        return SimpleNamespace(disk=False, logs=lambda: "")

    async def __aexit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(("raised", "status", "rounds"), [(AssertionError, 2, 200), (KeyboardInterrupt, 0, 7)])
def test_a_run_that_fails_leaves_the_results_of_the_last(
    raised: type[BaseException], status: int, rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is stopped on purpose replaces them by its own."""
    done: list[str] = []

    async def one(world: World, name: str, rng: object) -> Round:
        if len(done) == 7:
            raise raised
        done.append(name)
        return Round(name, 0.1, "a suggestion", 0.2)

    monkeypatch.setattr(command, "World", World)
    monkeypatch.setattr(command, "one", one)
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setenv("DLSP_MACHINE", "desk")
    monkeypatch.setattr("sys.argv", ["faults", "--rounds", "20"])
    last = results.write("faults", "", {"rounds": 200}, [])
    assert command.main() == status
    assert json.loads(last.read_text())["metrics"]["rounds"] == rounds
