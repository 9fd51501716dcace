"""Scripts that write a few lines anew in files of packages that no training has seen."""

import os
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

from bench.replay.scripts import Move, Script, Write
from dlsp import paths
from dlsp.errors import UserError
from dlsp_engine.errors import EngineError
from dlsp_engine.train.corpus.__main__ import build, orders
from dlsp_engine.train.corpus.shards import Row, rows

# How many files of each language.
FILES = {"python": 14, "typescript": 6, "javascript": 6, "go": 6, "rust": 6, "java": 6}
PLACES = 2
# A place is whole lines with at least so many characters, indentation left out.
CHARACTERS = 50
SMALLEST, LARGEST, LONGEST_LINE = 2_000, 40_000, 200
MOST_OF_A_PACKAGE = 300
SPLITS = ("test", "fit")

# What is fetched where there is no corpus: from registries that can be reached anywhere, and from a Debian mirror where
# one is named, the only source of Go, Rust and Java.
SOURCES, MIRRORED = ("pypi", "npm"), "debian"
MIRROR = "DLSP_DEBIAN_MIRROR"
PYTHON_MB, OTHER_MB = 15, 2
FETCHED = "fetched"


def corpus(given: Path | None) -> Path:
    """The folder of a corpus with held-out packages: the given one, else one that is fetched, once.

    Raises UserError where there is none, and none can be had.
    """
    if named := given or os.environ.get("DLSP_CORPUS_DIR"):
        if not any(Path(named).glob("heldout-*.jsonl.xz")):
            raise UserError(f"{named} has no held-out files: build it by `dlsp train corpus --out {named}`.")
        return Path(named)
    folder = paths.cache_dir() / "bench" / "heldout"
    sources = (*SOURCES, MIRRORED) if os.environ.get(MIRROR) else SOURCES
    done = folder / "-".join((FETCHED, *sources[len(SOURCES) :]))
    if not done.is_file():
        print("Fetching packages that no training saw, once: about a minute.", file=sys.stderr)
        try:
            build(folder, [one for one in orders(PYTHON_MB, OTHER_MB, ["heldout"]) if one.source in sources])
        except (EngineError, OSError) as error:
            raise UserError(str(error)) from error
        done.touch()
    return folder


def scripts(folder: Path, split: str, seed: int = 0) -> tuple[list[Script], dict[str, list[Row]]]:
    """The scripts of a split, and the packages whose files they need beside them.

    No package is in both splits, whatever its languages. A language without packages has no scripts.
    """
    packages: dict[str, list[Row]] = defaultdict(list)
    for row in rows(folder, "heldout"):
        packages[row["package"]].append(row)
    made: list[Script] = []
    sides: dict[str, str] = {}
    for language, number in FILES.items():
        rng = random.Random(f"{seed}/{language}")
        names = sorted(name for name, of in packages.items() if any(_fits(row, language) for row in of))
        rng.shuffle(names)
        found = {
            name: sorted((row for row in packages[name] if _fits(row, language)), key=itemgetter("path"))
            for name in names
        }
        for of in found.values():
            rng.shuffle(of)
        _part(names, min(number, (len(names) + 1) // 2), sides)
        mine = [of for name, of in found.items() if sides[name] == split]
        # One file of each package, then a second of each, until there are enough.
        turns = [of[turn] for turn in range(max(map(len, mine), default=0)) for of in mine if turn < len(of)]
        for row in turns[: number if split == "test" else 3 * number]:
            made += _of(row, seed)
    return made, {name: packages[name][:MOST_OF_A_PACKAGE] for name in {script.folder for script in made}}


def _part(names: Sequence[str], number: int, sides: dict[str, str]) -> None:
    """Give the packages that have none a side: of these packages `number` are for tests, the others for fits."""
    for name in names:
        taken = sum(sides.get(each) == "test" for each in names)
        sides.setdefault(name, "test" if taken < number else "fit")


def lay_out(root: Path, packages: dict[str, list[Row]], scripts: Sequence[Script]) -> None:
    """Write the packages below `root`, without the lines that scripts write anew: no index may know those."""
    gone: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for script in scripts:
        move, write = script.steps
        assert isinstance(move, Move)
        assert isinstance(write, Write)
        gone[script.folder, script.path].append((move.to, write.text))
    for name, of in packages.items():
        for row in of:
            text = row["text"]
            for start, written in sorted(gone[name, row["path"]], reverse=True):
                text = text[:start] + text[start + len(written) :]
            path = root / name / row["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _of(row: Row, seed: int) -> list[Script]:
    rng = random.Random(f"{seed}/{row['package']}/{row['path']}")
    lines = row["text"].splitlines(keepends=True)
    found: list[Script] = []
    taken: set[int] = set()
    for start in rng.sample(range(len(lines)), len(lines)):
        region = _region(lines, start)
        if not region or taken & set(range(start - 10, start + len(region) + 10)):
            continue
        taken |= set(range(start, start + len(region)))
        indentation = len(region[0]) - len(region[0].lstrip())
        before, gone = (
            "".join(lines[:start]) + region[0][:indentation],
            "".join(region)[indentation:].removesuffix("\n"),
        )
        after = row["text"][len(before) + len(gone) :]
        name = f"{row['package']}/{row['path']}"
        steps = (Move(len(before)), Write(gone))
        found.append(Script(f"{name}:{start + 1}", "writing", name, row["package"], row["path"], before + after, steps))
        if len(found) == PLACES:
            break
    return found


def _region(lines: list[str], start: int) -> list[str]:
    """Whole lines from `start` with enough in them; none where they are blank at an end, or over before that."""
    count = 0
    for end in range(start, len(lines)):
        count += len(lines[end].strip())
        if count >= CHARACTERS and lines[end].strip():
            return lines[start : end + 1] if lines[start].strip() else []
    return []


def _fits(row: Row, language: str) -> bool:
    text = row["text"]
    fits = row["language"] == language and SMALLEST <= len(text) <= LARGEST and "\r" not in text
    return fits and max(map(len, text.splitlines())) <= LONGEST_LINE
