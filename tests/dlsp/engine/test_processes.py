import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from dlsp.engine import processes
from dlsp.engine.state import State
from dlsp.errors import UserError

STATE = State("http://127.0.0.1:1", "t", "n", 0, "m", "1", 0.0)


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def test_kill_ends_the_process_that_wrote_the_state(sleeper: "subprocess.Popen[bytes]") -> None:
    assert processes.kill(replace(STATE, pid=sleeper.pid, started=time.time()))
    assert sleeper.wait(5) is not None
    assert not processes.kill(replace(STATE, pid=sleeper.pid, started=time.time()))


def test_kill_spares_who_has_the_number_now(sleeper: "subprocess.Popen[bytes]") -> None:
    assert not processes.kill(replace(STATE, pid=sleeper.pid, started=time.time() - 3600))
    assert not processes.kill(replace(STATE, pid=os.getpid(), started=time.time()))
    assert sleeper.poll() is None


@pytest.mark.parametrize("shift_s", [-3600, -6, 0, 3600])
def test_a_step_of_the_clock_changes_nothing(sleeper: "subprocess.Popen[bytes]", shift_s: float) -> None:
    """Set forward between the state file and now, a process seems younger than its own file."""
    found = replace(STATE, pid=sleeper.pid, started=time.time() + shift_s, birth=processes.birth(sleeper.pid))
    assert not processes.ended(found, 0)
    assert processes.kill(found)
    assert sleeper.wait(5) is not None
    assert processes.ended(found, 0)


@pytest.mark.parametrize("shift_s", [-3600, 0, 3600])
def test_another_process_with_the_number_is_spared_whatever_the_clock_did(
    sleeper: "subprocess.Popen[bytes]", shift_s: float
) -> None:
    found = replace(STATE, pid=sleeper.pid, started=time.time() + shift_s, birth=processes.birth(os.getpid()))
    assert not processes.kill(found)
    assert processes.ended(found, 0)
    assert sleeper.poll() is None


def test_the_birth_of_a_process(sleeper: "subprocess.Popen[bytes]") -> None:
    born = processes.birth(sleeper.pid)
    time.sleep(0.02)
    assert born == processes.birth(sleeper.pid)
    assert born != processes.birth(os.getpid())
    sleeper.kill()
    sleeper.wait()
    assert processes.birth(sleeper.pid) == ""


def test_an_engine_that_has_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    """Also where whoever started it does not ask again, as an editor's server that goes on for days."""
    started = processes.start([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "log")
    deadline = time.monotonic() + 20
    while psutil.pid_exists(started.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert started.poll() == 3


def test_a_start_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="could not be started"):
        processes.start(["/no/such/program"], tmp_path / "log")
    with pytest.raises(UserError, match="could not be started"):
        processes.start([sys.executable], tmp_path / "no" / "log")


def test_what_makes_a_child_outlive_its_parent() -> None:
    assert processes.detached("linux") == processes.detached("darwin") == {"start_new_session": True}
    assert processes.detached("win32") == {"creationflags": 0x1000208}
    assert processes.own_group("win32") == {"creationflags": 0x200}
    assert processes.own_group("linux") == {"process_group": 0}
