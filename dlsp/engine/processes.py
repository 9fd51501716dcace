"""Operating-system processes: start an engine that outlives its client, end one that does not answer."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsp.engine.state import State
from dlsp.errors import UserError

if TYPE_CHECKING:
    import psutil

CLOCK_SKEW_S = 5  # seconds by which an older engine's state file and the process table may disagree
POLL_S = 0.05


def start(command: list[str], log: Path) -> "subprocess.Popen[Any]":
    """Start a process that writes to `log` and outlives this one; raises UserError if it cannot be started."""
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=log.parent,
                **detached(sys.platform),
            )
        finally:
            os.close(output)
        # Reap the process when it ends, so that it does not stay in the process table as a zombie.
        threading.Thread(target=process.wait, name="the engine's end", daemon=True).start()
        return process
    except OSError as error:
        raise UserError(
            f"The engine could not be started ({error.strerror}; its log is {log}): free some space and memory, "
            "or set DLSP_STATE_DIR to a folder that can be written."
        ) from error


def detached(platform: str) -> dict[str, Any]:
    """Options for Popen by which a child outlives its parent, the terminal and Ctrl-C."""
    if platform == "win32":
        # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP, CREATE_BREAKAWAY_FROM_JOB: an editor's job object ends its
        # children.
        return {"creationflags": 0x00000008 | 0x00000200 | 0x01000000}
    return {"start_new_session": True}


def own_group(platform: str) -> dict[str, Any]:
    """Options for Popen by which Ctrl-C in the terminal does not reach a child in the foreground."""
    return {"creationflags": 0x00000200} if platform == "win32" else {"process_group": 0}


def end_loading(model: str, state_dir: Path, within_s: float = 10) -> bool:
    """End the process that loads or converts `model` for the engines of `state_dir`; returns False if none has ended.

    It has not written a state file yet, so it is identified by its command line. It removes a partial conversion.
    """
    import psutil

    words = {"dlsp_engine", "serve", "--model", model, "--state", str(state_dir)}
    found = [each for each in psutil.process_iter(["cmdline"]) if words <= set(each.info["cmdline"] or ())]
    for process in found:
        with suppress(psutil.Error):
            process.terminate()
    gone, left = psutil.wait_procs(found, within_s)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    return bool(gone or psutil.wait_procs(left, within_s)[0])


def kill(found: State) -> bool:
    """Kill the process that wrote `found`; returns False if it is gone or its process id was reused.

    Raises UserError if it cannot be killed.
    """
    import psutil

    try:
        if (process := _process(found)) is None:
            return False
        process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        process.wait(2)
    except psutil.NoSuchProcess:
        return False
    except psutil.TimeoutExpired:
        return True  # a child that has not been reaped yet
    except (psutil.Error, OSError) as error:
        sentence = f"The engine (process {found.pid}) does not answer and cannot be ended: end it by hand."
        raise UserError(sentence) from error
    return True


def ended(found: State, within: float) -> bool:
    """Wait up to `within` seconds for the process that wrote `found`; returns whether it has ended."""
    import psutil

    deadline = time.monotonic() + within
    try:
        while (process := _process(found)) and process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
    except psutil.NoSuchProcess:
        return True
    return True


def birth(pid: int) -> str:
    """An identifier of a process's start that clock changes do not affect; "" if there is no such process.

    Linux counts ticks since boot; other systems record the start time once.
    """
    if sys.platform == "linux":
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return ""
        return f"{boot}/{stat.rpartition(')')[2].split()[19]}"  # field 22 of proc(5); the name may contain spaces
    import psutil

    try:
        return repr(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""


def _process(found: State) -> "psutil.Process | None":
    """The process that wrote `found`; None if it is this process or its id was reused. Raises NoSuchProcess if it is
    gone."""
    import psutil

    process = psutil.Process(found.pid)
    # An engine of an older dlsp recorded only its start time.
    old = process.create_time() <= found.started + CLOCK_SKEW_S
    same = birth(found.pid) == found.birth if found.birth else old
    return process if same and found.pid != os.getpid() else None
