"""Runs one untrusted Python program, which may compute and nothing else.

Started by `bench.quality.sandbox`, in a session of its own and with the program on standard input, as
`python -I -S -B jail CPU_SECONDS WALL_SECONDS MEMORY_BYTES`. Writes lines of JSON on standard output;
the first counts: {"why", "layers"}. `why` is `passed`, the name of the exception that ended the program,
`timeout`, `killed`, or `refused` where root cannot be contained.
"""

import json
import os
import resource
import signal
import sys
from typing import NoReturn

import guard

if sys.platform == "linux":
    import linux


def main() -> None:
    cpu_s, wall_s, memory = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    program = sys.stdin.buffer.read()
    answers = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    layers = ["limits", "guard"]
    if sys.platform == "linux":
        if linux.leave_namespaces():
            layers.append("namespaces")
        linux.die_with_parent()
    child = os.fork()
    if child == 0:
        inside(program, cpu_s, memory, layers, answers)
    why = watch(child, cpu_s, wall_s)
    tell(answers, why, layers)
    os.killpg(0, signal.SIGKILL)


def watch(child: int, cpu_s: int, wall_s: float) -> str:
    """Wait for the program, kill it when its time is over, and say how it ended."""
    late = False

    def kill(*_: object) -> None:
        nonlocal late
        late = True
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    os.waitpid(child, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The kernel counts its limit by ticks, so that on a busy machine it may end a program before its time.
    return "timeout" if late or used.ru_utime + used.ru_stime > cpu_s / 2 else "killed"


def inside(program: bytes, cpu_s: int, memory: int, layers: list[str], answers: int) -> NoReturn:
    """Put every layer in force, run the program, tell how it went."""
    end = os._exit
    if sys.platform == "linux":
        if os.geteuid() == 0:
            if not linux.become_nobody():
                tell(answers, "refused", layers)
                end(1)
            layers.append("nobody")
        if linux.forbid_writing():
            layers.append("landlock")
        linux.die_with_parent()
    limit(cpu_s, memory)
    sys.path.pop(0)
    try:
        guard.install()
        exec(compile(program, "<program>", "exec"), {})
        why = "passed"
    except BaseException as error:
        why = type(error).__name__
    tell(answers, why, layers)
    end(0)


def limit(cpu_s: int, memory: int) -> None:
    """No other process, no file, no core dump, and so much time and memory."""
    limits = {
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 1,
    }
    for name, value in limits.items():
        resource.setrlimit(name, (value, value))


def tell(answers: int, why: str, layers: list[str]) -> None:
    os.write(answers, json.dumps({"why": why, "layers": layers}).encode() + b"\n")


main()
