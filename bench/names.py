"""Names that do not exist in suggestions, with and without steering: `python -m bench.names --gaps 300`.

The gaps are at dots and at calls in packages that are installed beside this one: what stood from the name on to the end
of the line is taken out. For each value of the setting `steer`, told are the share of suggestions whose first line is
what stood there, and of those with a name after a dot or of a call that stands nowhere: not in the package, not in the
modules that the file imports, and not in Python's built-in types.
"""

import argparse
import builtins
import importlib.util
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import DTYPES, at_least, guarded, line, loaded, until_stopped, written
from bench.cross_file.gaps import LONGEST, PACKAGES, SHORTEST, copied
from dlsp.completions import infill, steering
from dlsp.completions.filters import trim
from dlsp.context.build import build
from dlsp.context.elsewhere import defined
from dlsp.context.tokens import DEFAULT_TOKENS
from dlsp.ignore import Rules, walk
from dlsp.index.store import Store
from dlsp.index.update import update
from dlsp.models import catalogue
from dlsp.settings.schema import STEERS
from dlsp.syntax import languages
from dlsp.syntax.brackets import unclosed
from dlsp.syntax.source import Source

if TYPE_CHECKING:
    from dlsp_engine import Engine

WORD = re.compile(r"[^\W\d]\w*")
MEMBER, CALL = re.compile(r"[\w)\]]\.([^\W\d]\w*)"), re.compile(r"(?<![\w.])([^\W\d]\w*)\(")
CODE = re.compile(r"^(?!\s*(?:#|def |class |import |from |@))( +.*)$", re.MULTILINE)
STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#.*")
DEFINED = re.compile(r"\w+(?=\s*=[^=])|(?<=for )\w+|(?<=as )\w+|(?<=def )\w+|(?<=lambda )\w+")
IMPORTS = re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)
TYPES = (str, bytes, int, float, list, tuple, dict, set, BaseException)
BUILT_IN = frozenset(dir(builtins)).union(*(dir(each) for each in TYPES))


@dataclass(frozen=True)
class NameGap:
    """`right` is what stood between `before` and `after`. It begins with a name, after a dot or of a call."""

    package: str
    path: str
    kind: str  # member, call
    before: str
    right: str
    after: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.before.count(chr(10)) + 1}"


def gaps(root: Path) -> Iterator[NameGap]:
    """The gaps of a workspace with one package."""
    for file, _ in walk(Rules(root)):
        text = file.read_text(encoding="utf-8", errors="replace")
        for row in CODE.finditer(text) if file.suffix == ".py" and "\r" not in text else ():
            if unclosed(row[1]) or "#" in row[1] or '"""' in row[1]:
                continue
            for kind, pattern in (("member", MEMBER), ("call", CALL)):
                for use in pattern.finditer(row[1]):
                    at = row.start() + use.start(1)
                    right = text[at : row.end()].rstrip()
                    if SHORTEST <= len(right) <= LONGEST and '"' not in row[1][: use.start(1)]:
                        path = file.relative_to(root).as_posix()
                        yield NameGap(root.name, path, kind, text[:at], right, text[row.end() :])


def chosen(found: list[NameGap], most: int, seed: int) -> list[NameGap]:
    """A sample with as many members as calls, at most one gap of a line."""
    shuffled = random.Random(seed).sample(found, len(found))
    shuffled = list({gap.place: gap for gap in shuffled}.values())
    of_kind = ([gap for gap in shuffled if gap.kind == kind] for kind in ("member", "call"))
    return [gap for pair in zip(*of_kind, strict=False) for gap in pair][:most]


@cache
def words(module: str) -> frozenset[str]:
    """The words in the source of an installed module and, if it is a package, of all that is in it."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return frozenset()
    if not found:
        return frozenset()
    if not found.submodule_search_locations:
        return frozenset(dir(importlib.import_module(module))) if not found.has_location else _read([found.origin])
    files = (path for folder in found.submodule_search_locations for path in Path(folder).rglob("*.py"))
    return _read(sorted(map(str, files)))


def _read(files: list[Any]) -> frozenset[str]:
    texts = (Path(file).read_text(encoding="utf-8", errors="replace") for file in files if str(file).endswith(".py"))
    return frozenset().union(*(WORD.findall(text) for text in texts))


def exist(gap: NameGap) -> frozenset[str]:
    """The names that exist for the file of a gap."""
    modules = {gap.package, *(name.split(".")[0] for name in IMPORTS.findall(gap.before + gap.after) if name[0] != ".")}
    return BUILT_IN.union(WORD.findall(gap.before + gap.after), *(words(module) for module in sorted(modules)))


def unknown(gap: NameGap, offered: str) -> list[str]:
    """The names after dots and of calls in a suggestion that do not exist. Names that the line defines do."""
    row = STRINGS.sub('""', gap.before.rpartition("\n")[2] + offered)
    used = {*MEMBER.findall(row), *CALL.findall(row)}
    return sorted(used - exist(gap) - set(DEFINED.findall(row)))


def filled(engine: "Engine", gap: NameGap, index: Store, root: Path, budget: int) -> dict[str, Any]:
    """What is suggested for each value of `steer`."""
    from dlsp_engine import File, Gap, Options

    language = languages.of(gap.path)
    source = Source(language) if language else None
    seen = build(gap.path, gap.before, gap.after, source=source, index=index, rules=Rules(root), budget=budget)
    if language:
        seen = replace(seen, defined=defined(index, Rules(root), language.family, steering.MAX_NAMES))
    files = tuple(File(each["path"], each["text"]) for each in seen.files)
    asked = Gap(seen.window.prefix, seen.window.suffix, path=gap.path, files=files)
    end = infill.end_rule(gap.before)
    sample: dict[str, Any] = {"place": gap.place, "package": gap.package, "kind": gap.kind, "right": gap.right}
    session = engine.prefilled(asked, engine.new_session())
    for steer in STEERS:
        wanted = steering.constraint(steer, seen, gap.path)
        options = Options(end=end, max_tokens=48, constraint=engine.grammars(wanted) if wanted else None)
        fill = engine.fill(asked, options, session.copy())
        text = trim(fill.text, gap.before, gap.after).split("\n")[0].rstrip()
        tau = fill.cost.tau
        sample[steer] = {"text": text, "right": text == gap.right, "unknown": unknown(gap, text), "tau": round(tau, 3)}
    return sample


def summary(samples: list[dict[str, Any]]) -> dict[str, float]:
    metrics: dict[str, float] = {"gaps": len(samples)}
    for steer in STEERS:
        for kind in ("all", "member", "call"):
            own = [each[steer] for each in samples if kind in ("all", each["kind"])]
            if own:
                metrics[f"{steer}/{kind}/exact"] = statistics.mean(each["right"] for each in own)
                metrics[f"{steer}/{kind}/unknown"] = statistics.mean(bool(each["unknown"]) for each in own)
                metrics[f"{steer}/{kind}/empty"] = statistics.mean(not each["text"] for each in own)
        metrics[f"{steer}/changed"] = statistics.mean(each[steer]["text"] != each["off"]["text"] for each in samples)
        metrics[f"{steer}/tau"] = statistics.mean(each[steer]["tau"] for each in samples)
    metrics["right_is_unknown"] = statistics.mean(bool(each["right_unknown"]) for each in samples)
    return {name: round(value, 4) for name, value in metrics.items()}


def indexed(taken: Sequence[NameGap], roots: Mapping[str, Path], folder: Path) -> dict[str, Store]:
    """An index in `folder` of each package that a gap is in, by the package's name."""
    indexes = {name: Store.open(folder / "index" / f"{name}.sqlite") for name in {gap.package for gap in taken}}
    for name, index in indexes.items():
        update(index, Rules(roots[name]))
    return indexes


def arguments(program: str, description: str) -> argparse.ArgumentParser:
    """The options of a bench on these gaps."""
    parser = argparse.ArgumentParser(program, description=description)
    parser.add_argument("--gaps", type=at_least(2), default=300)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    parser.add_argument("--budget", type=int, default=DEFAULT_TOKENS, help="tokens of context")
    parser.add_argument("--seed", type=int, default=1)
    return parser


@guarded()
def main() -> int:
    parser = arguments("python -m bench.names", "Names that do not exist.")
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    with tempfile.TemporaryDirectory() as temporary:
        roots = {name: root for name in PACKAGES if (root := copied(name, Path(temporary)))}
        taken = chosen([gap for root in roots.values() for gap in gaps(root)], asked.gaps, asked.seed)
        indexes = indexed(taken, roots, Path(temporary))
        engine = loaded(model, asked.dtype)
        answered = (
            filled(engine, gap, indexes[gap.package], roots[gap.package], asked.budget)
            | {"right_unknown": unknown(gap, gap.right)}
            for gap in taken
        )
        samples = until_stopped(answered, "gaps", len(taken))
    metrics = summary(samples)
    for name, value in metrics.items():
        print(f"{name}: {value}")
    return written(f"names-{model.name}-{asked.dtype}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
