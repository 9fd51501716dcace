"""Texts that every editor is tested on, and the stub engine's answers to them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.dlsp.stub_engine import COST, StubEngine

# A line of the example project, for the model.
FINES = Path(__file__).parents[2] / "examples" / "lending" / "fines.py"
FINE = "    return min("


def fines() -> tuple[str, str]:
    """The file before and after the place where the fine's arguments are to be written."""
    before, after = FINES.read_text().split(FINE + "cents, HIGHEST_FINE")
    return before + FINE, after


# A function without a body, for the model.
COUNT = '''def count_words(text: str) -> dict[str, int]:
    """How often each word occurs in the text."""
    pass


if __name__ == "__main__":
    print(count_words("a rose is a rose"))
'''

# A function without a body, and how the stub's canvas of it comes into focus.
ADD = "def add(a, b):\n    ...\n\n\nx = 1\n"
ADDED = "def add(a, b):\n    return a + b\n\n\nx = 1\n"
CANVAS = {"event": "canvas", "gap": 0, "committed": "return a", "canvas": [" + b", None, None]}
FILLED = {"event": "fill", "gap": 0, "text": "return a + b\n", "reason": "body", "cost": COST}
DONE = {"event": "done"}

# A function and its uses, for an edit that is carried on.
FEES = """def late_fee(days):
    return days * 2


def total(days):
    base = late_fee(days)
    return base + late_fee(1)
"""
FEES_RENAMED = FEES.replace("late_fee", "overdue_fee")
CALLER = "from fees import late_fee\n\nprint(late_fee(3))\n"


# The program of an installation without an engine: these modules are not there.
LIGHT = """
import sys
sys.modules.update({'torch': None, 'llvmlite': None})
from dlsp.cli import main
sys.exit(main())
"""


def events(*each: object) -> bytes:
    """A body of an engine's answer."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in each)


def proposed(*lines: str) -> bytes:
    """The engine's answer to an instruction: these lines in the place of the selected ones."""
    site = {"event": "site", "site": 0, "text": {}, "candidates": [], "cost": COST}
    return events({**site, "proposal": {"text": "".join(f"+{line}\n" for line in lines)}}, DONE)


def before(request: dict[str, Any]) -> str:
    """The text before the cursor, as the engine was asked."""
    gap = request["gaps"][0]
    return gap["prefix"] + gap.get("middle", "")


def asked(stub: StubEngine) -> list[dict[str, Any]]:
    """What the engine was asked for the cursor's place, not ahead of it."""
    return [request for request in stub.requests if request.get("priority", "typing") == "typing"]


def bodies(stub: StubEngine) -> list[dict[str, Any]]:
    """What the engine was asked for the bodies of functions."""
    return [request for request in stub.requests if request.get("end") == "body"]


def rest_of(line: str) -> Callable[[dict[str, Any]], str]:
    """An engine whose answer is what a line lacks."""

    def answer(request: dict[str, Any]) -> str:
        typed = before(request).rpartition("\n")[2]
        return line.removeprefix(typed) if line.startswith(typed) else ""

    return answer
