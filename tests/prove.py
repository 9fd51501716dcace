"""The long proofs, in parts: `make prove` runs all of them, `make prove PART=identity` one.

A part runs `python -m MODULE ARGUMENTS` for each of its commands. A test that is marked `prove` runs in the part that
names its folder. `make prove PART=tests/dlsp/server/test_hostile.py` runs those of one file, or all of it if none is
marked. What each file of tests has shown is written to `bench/results/prove-hostile-MACHINE.json`: how many tests
passed, how long they took, and what they measured and handed to pytest's `record_property`.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench import results

ALL = "all"
ROOT = Path(__file__).parents[1]


def _marked(*paths: str) -> list[str]:
    return ["pytest", "-m", "prove", *paths]


# What is proved, and the commands that prove it.
PARTS: dict[str, tuple[str, list[list[str]]]] = {
    "server": ("long random editing, hostile workspaces and texts", [_marked("tests/dlsp")]),
    "engine": ("memory over 1,000 requests, a prompt of 32,768 tokens, a training run", [_marked("tests/engine")]),
    "faults": (
        "killed processes, full disks, damaged messages",
        [["bench.faults", "--rounds", "200"], _marked("tests/faults")],
    ),
    "editors": ("500 random actions in Neovim and in VS Code", [_marked("tests/e2e")]),
    "day": (
        "24 hours of mixed use in virtual time, eight hours of keys against the real engine",
        [["bench.day", "--hours", "24"], ["bench.day", "--hours", "8", "--real"]],
    ),
    "soak": (
        "two hours' mixed traffic of four clients, replayed fast: no request lost, memory and typing flat",
        [["bench.traffic", "--hours", "2"]],
    ),
    "install": (
        "the built packages in an empty home, with and without an engine, to a suggestion in Neovim and VS Code",
        [_marked("tests/install")],
    ),
    "traps": (
        "300 renames of names that have two meanings: what must stay does, what must follow is offered",
        [["bench.edits.traps"]],
    ),
    "constraints": (
        "constrained verified decoding is constrained autoregressive decoding in 500 cases",
        [_marked("tests/constraints")],
    ),
    "team": (
        "a team's server on Ray: replicas end, come and go, a model is replaced; Neovim, VS Code, OpenAI's library ask",
        [_marked("tests/team")],
    ),
    "identity": ("verified decoding is ordinary decoding on 200 real gaps", [["bench.identity", "--gaps", "200"]]),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one part, one file of tests, or all; 1 if a command failed, 2 if there is no such part, else 0."""
    (name,) = (sys.argv[1:] if arguments is None else arguments) or [ALL]
    if name in PARTS or name == ALL:
        parts = PARTS if name == ALL else {name: PARTS[name]}
    elif name.endswith(".py") and (ROOT / name).is_file():
        long = "pytest.mark.prove" in (ROOT / name).read_text("utf-8")
        parts = {name: ("one file of tests", [_marked(name) if long else ["pytest", name]])}
    else:
        lines = [f"  {part}: {what}" for part, (what, _) in PARTS.items()]
        print("\n".join([f"There is no part {name}. The parts are:", *lines]), file=sys.stderr)
        return 2
    lines, failed = [], False
    for part, (what, commands) in parts.items():
        began = time.monotonic()
        broken = _failed(part, commands)
        failed |= bool(broken)
        how = f"FAILED: {'; '.join(broken)}" if broken else "passed"
        lines.append(f"{(time.monotonic() - began) / 60:6.1f} min  {part}: {what}: {how}")
    print("\n".join(["", *lines]), file=sys.stderr)
    return int(failed)


def _failed(part: str, commands: list[list[str]]) -> list[str]:
    """Run the commands of a part, all of them, and return those that failed."""
    failed = []
    for command in commands:
        print(f"\n$ python -m {' '.join(command)}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            reported = [f"--junitxml={report}", "-ojunit_family=xunit1"] if command[0] == "pytest" else []
            if subprocess.run([sys.executable, "-m", *command, *reported], check=False, cwd=ROOT).returncode:
                failed.append(" ".join(command))
            if report.exists():
                for file, tests in measured(report).items():
                    path = results.write(f"prove-{file}", f"make prove PART={part}", summary(tests), tests)
                    print(f"Written to {path}", file=sys.stderr)
    return failed


def measured(report: Path) -> dict[str, list[dict[str, Any]]]:
    """The tests of each file (`hostile` for test_hostile.py) in pytest's XML report: name, outcome, seconds, and the
    numbers that they recorded.
    """
    files: dict[str, list[dict[str, Any]]] = {}
    for case in ElementTree.parse(report).iter("testcase"):  # our own pytest wrote it
        file = case.get("classname", "").rpartition(".")[2].removeprefix("test_")
        ended = {each.tag for each in case} & {"failure", "error", "skipped"}
        recorded = {str(each.get("name")): float(str(each.get("value"))) for each in case.iter("property")}
        seconds = round(float(case.get("time", "0")), 2)
        test = {"test": case.get("name"), "outcome": ended.pop() if ended else "passed", "seconds": seconds}
        files.setdefault(file, []).append(test | recorded)
    return files


def summary(tests: list[dict[str, Any]]) -> dict[str, float]:
    """How many tests there are and how they ended, their minutes, and the largest of each recorded number."""
    found: dict[str, float] = {"tests": len(tests), "minutes": round(sum(each["seconds"] for each in tests) / 60, 2)}
    found |= {how: sum(each["outcome"] == how for each in tests) for how in ("passed", "failure", "error", "skipped")}
    names = {name: None for each in tests for name in each if name not in ("test", "outcome", "seconds")}
    return found | {f"{name}/max": max(each[name] for each in tests if name in each) for name in names}


if __name__ == "__main__":
    sys.exit(main())
