"""Real gaps that every machine has: cut from the standard library of the Python that runs."""

import random
import sysconfig
from pathlib import Path

from dlsp_engine import Gap, Options

MODULES = ("argparse", "ast", "calendar", "configparser", "csv", "difflib", "fractions", "heapq", "inspect", "mailbox")
MODULES += ("pathlib", "pprint", "queue", "shutil", "statistics", "tarfile", "textwrap", "uuid", "zipapp", "zipfile")

BEFORE, AFTER = 600, 300  # characters of the window


def gaps(count: int, seed: int = 0) -> list[tuple[Gap, Options]]:
    """Rests of lines (some cut inside a word), whole lines and blocks, in turn, with autoregressive options."""
    rng = random.Random(seed)
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [path.read_text(encoding="utf-8") for name in MODULES if (path := folder / f"{name}.py").exists()]
    kinds = ("rest", "line", "block")
    return [_gap(rng, rng.choice(texts), kinds[number % len(kinds)]) for number in range(count)]


def _gap(rng: random.Random, text: str, kind: str) -> tuple[Gap, Options]:
    lines = text.splitlines(keepends=True)
    at = rng.choice([i for i in range(30, len(lines) - 12) if len(lines[i].strip()) > 12])
    start = sum(map(len, lines[:at]))
    if kind == "rest":
        first = start + rng.randrange(len(lines[at]) - len(lines[at].lstrip()), len(lines[at]) - 4)
        last = start + len(lines[at]) - 1
    else:
        first = start
        last = start + sum(map(len, lines[at : at + (1 if kind == "line" else rng.randint(2, 6))]))
    gap = Gap(text[max(0, first - BEFORE) : first], text[last : last + AFTER], path="module.py")
    end = "block" if kind == "block" else "line"
    return gap, Options(mode="autoregressive", end=end, max_tokens=24)
