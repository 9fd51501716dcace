"""Runs one untrusted program of any language, which may compute, read files and write to its output.

Started by `bench.quality.tools`, in a session of its own, with {"command", "cases", "cpu_s", "wall_s", "data"} as JSON
on standard input. `cases` are [input, [outputs]]: for each input the program has to write one of the outputs, white
space and case apart; without cases it has to end with 0. Writes a line of JSON: {"why", "layers"}. `why` is `passed`,
`failed` (it ended with another status), `wrong` (another output), `timeout`, `killed`, the name of an exception, or
`refused` where root cannot be contained.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from typing import Any, NoReturn

import linux

PROCESSES = 512  # with their threads, of all programs of this user


def main() -> None:
    asked: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    answers = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    layers = ["limits"]
    if linux.leave_namespaces():
        layers.append("namespaces")
    linux.die_with_parent()
    child = os.fork()
    if child == 0:
        inside(asked, layers, answers)

    def late(*_: object) -> None:
        tell(answers, "timeout", layers)
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, asked["wall_s"])
    os.waitpid(child, 0)
    tell(answers, "killed", layers)
    os.killpg(0, signal.SIGKILL)


def inside(asked: dict[str, Any], layers: list[str], answers: int) -> NoReturn:
    """Put every layer in force, run the program, tell how it went."""
    if os.geteuid() == 0:
        if not linux.become_nobody():
            tell(answers, "refused", layers)
            os._exit(1)
        layers.append("nobody")
    if linux.forbid_writing(executing=True):
        layers.append("landlock")
    linux.die_with_parent()
    limits = {
        resource.RLIMIT_CPU: asked["cpu_s"],
        resource.RLIMIT_DATA: asked["data"],
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: PROCESSES,
    }
    for name, value in limits.items():
        resource.setrlimit(name, (value, value))
    try:
        why = ran(asked["command"], asked["cases"])
    except BaseException as error:
        why = type(error).__name__
    tell(answers, why, layers)
    os._exit(0)


def ran(command: list[str], cases: list[list[Any]]) -> str:
    for given, outputs in cases or [["", None]]:
        done = subprocess.run(command, input=given.encode(), stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            return "failed"
        if outputs is not None:
            said = done.stdout.decode("utf-8", "replace").lower().split()
            if not any(said == output.lower().split() for output in outputs):
                return "wrong"
    return "passed"


def tell(answers: int, why: str, layers: list[str]) -> None:
    os.write(answers, json.dumps({"why": why, "layers": layers}).encode() + b"\n")
