"""The long run in short: everything that is asked is answered, and what grows is seen."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.day.__main__ import CUT_S, cut, run
from bench.day.curves import folder, grown, sample
from bench.day.recording import Key, Open, Pause, recording
from bench.day.server import Clock

TEXTS = ["import os\n\n\ndef f(a):\n    if a:\n        return os\n    return a\n" * 5, "x = 1\ny = 2\nz = x + y\n" * 9]


def test_a_recording_is_the_same_for_a_seed_and_types_what_was_left_out() -> None:
    actions = list(recording(3, 3600, TEXTS))
    assert actions == list(recording(3, 3600, TEXTS))
    assert actions != list(recording(4, 3600, TEXTS))
    waited = sum(one.seconds if isinstance(one, Pause) else getattr(one, "wait_s", 0) for one in actions)
    assert waited >= 3600
    assert cut(actions) <= waited - sum(one.seconds - CUT_S for one in actions if isinstance(one, Pause)) + 1e-6
    typed = ""
    for one in reversed(actions):
        if isinstance(one, Key):
            typed = one.text + typed
        elif isinstance(one, Open):
            assert typed == "".join(TEXTS[one.file].splitlines(keepends=True)[one.row : one.row + one.count])
            typed = ""


def test_eight_hours_take_at_most_a_hundred_minutes() -> None:
    assert cut(list(recording(1, 8 * 3600, TEXTS * 10))) < 100 * 60


@pytest.mark.parametrize(("each", "flat"), [(0.0, True), (0.02, True), (0.5, False)])
def test_what_grows_is_seen(each: float, flat: bool) -> None:
    """Memory that is filled in the first quarter is not growth."""
    memory = [50.0 + min(number, 25) + each * number for number in range(100)]
    samples = [{"server/memory_mb": one, "server/threads": 9.0} for one in memory]
    assert (grown(samples) == {}) == flat
    assert set(grown(samples)) <= {"server/memory_mb"}
    threads = [{"server/threads": 9.0 + number // 10} for number in range(100)]
    assert set(grown(threads)) == {"server/threads"}


def test_a_process_and_a_folder_are_measured(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(2**20))
    assert folder(tmp_path, "state") == {"state/files": 1, "state/state_mb": 1.0}
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()  # it runs
        found = sample(process.pid, "server")
        assert found["server/threads"] == 1
        assert found["server/memory_mb"] > 1
        process.kill()
    assert sample(process.pid, "server") == {}


def test_a_clock_is_set_forward_in_another_process(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "clock")
    code = (
        "import sys, time; from pathlib import Path; from bench.day import server\n"
        "real = time.monotonic(); server._set_ahead(server._mapped(Path(sys.argv[1])))\n"
        "print('ready', flush=True); input(); print(time.monotonic() - real > 3000, time.time() > 3000)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "clock")], stdin=-1, stdout=-1, text=True) as it:
        assert it.stdout
        assert it.stdout.readline() == "ready\n"
        clock.forward(3600)
        assert it.communicate("\n")[0] == "True True\n"


async def test_a_quarter_of_an_hour_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "DLSP_STATE_DIR", "DLSP_CACHE_DIR"):  # what it sets goes with the test
        monkeypatch.setenv(name, "")
    outcome = await run(900, seed=1, real=False)
    assert outcome.lost == []
    assert outcome.counts["keys"] > 30
    assert outcome.counts["shown"] > 20
    assert outcome.counts["accepted"] > 0
    sampled = set[str]().union(*outcome.samples)  # the index process may be between two folders in the last one
    assert {"server/memory_mb", "dlsp.index/memory_mb", "temporary/files", "state/state_mb"} <= sampled
