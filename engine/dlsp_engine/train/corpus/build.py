"""The pipeline: reads packages, filters and records them one by one, until every language has enough text."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from . import filters, licences, shards
from .duplicates import Duplicates
from .ledger import Entry, Ledger
from .overlap import Overlap
from .package import GROUPS, File, Languages, Package
from .words import words

CAP_BYTES = 1_000_000

# There are few packages of the other languages, so a larger share of them is held out.
HELD_OUT_PERCENT = {group: 3 if group == "python" else 10 for group in GROUPS}
SPLITS = ("train", "heldout")

# The repositories that evaluation sets of edits come from.
EXCLUDED = frozenset(
    (
        "flask",
        "requests",
        "httpx",
        "rich",
        "black",
        "pytest",
        "pydantic",
        "scrapy",
        "aiohttp",
        "attrs",
        "urllib3",
    )
)

# Packages that contain evaluation sets of code in any form; they are not even read.
BENCHMARKS = re.compile(r"(lm[-_.]?eval|human[-_.]?eval|evalplus|mxeval|bigcode)", re.IGNORECASE)

Source = Callable[[Sequence[str], Languages, Path], Iterator[Package]]


@dataclass(frozen=True)
class Order:
    """Read packages with these names from one source until a group of languages has `target` bytes."""

    group: str
    source: str
    packages: Source
    names: Sequence[str]
    target: int


class Build:
    """A corpus in a folder. A build that was interrupted at any moment continues where it was."""

    def __init__(self, folder: Path, overlap: Overlap) -> None:
        self._folder = folder
        self._overlap = overlap
        self._duplicates = Duplicates()
        self.ledger = Ledger(folder / "ledger.jsonl")
        shards.restore(folder, self.ledger.entries)
        rows = {split: shards.rows(folder, split) for split in SPLITS}
        for entry in self.ledger.entries:
            kept = list(islice(rows[entry.split], entry.files))
            for row in sorted(kept, key=lambda row: _chance(row["path"])):
                self._duplicates.seen(words(row["text"]))

    def fill(self, order: Order, scratch: Path, report: Callable[[Entry], None]) -> None:
        """Read the packages of an order until its target is reached or there are no more."""
        names = [
            name
            for name in order.names
            if name not in EXCLUDED
            and not BENCHMARKS.match(name)
            and not self.ledger.done(order.group, order.source, name)
        ]
        if not names or self.ledger.kept(order.group) >= order.target:
            return
        for package in order.packages(names, GROUPS[order.group], scratch):
            entry = self._take(order.group, package)
            self.ledger.add(entry)
            report(entry)
            if self.ledger.kept(order.group) >= order.target:
                return

    def _take(self, group: str, package: Package) -> Entry:
        """Write the files of a package that are kept. Returns the ledger's entry, which also counts the dropped
        files.
        """
        split = split_of(group, package.name)
        dropped: Counter[str] = Counter()
        kept = sorted(self._chosen(package.files, dropped), key=lambda choice: choice[0].path)
        rows: list[shards.Row] = [
            {
                "text": text,
                "path": file.path,
                "package": package.name,
                "version": package.version,
                "language": file.language,
                "licence": file.licence,
                "split": split,
            }
            for file, text in kept
        ]
        shard, end = shards.append(self._folder, self.ledger.entries, split, rows) if rows else ("", 0)
        sizes: Counter[str] = Counter()
        for row in rows:
            sizes[row["language"]] += len(row["text"].encode())
        return Entry(
            group=group,
            source=package.source,
            name=package.name,
            version=package.version,
            split=split,
            licence=" | ".join(sorted({row["licence"] for row in rows})),
            files=len(rows),
            bytes=dict(sizes),
            sha256=sha256("".join(row["text"] for row in rows).encode()).hexdigest(),
            dropped=dict(sorted(dropped.items())),
            problem=package.problem,
            shard=shard,
            end=end,
        )

    def _chosen(self, files: Sequence[File], dropped: Counter[str]) -> Iterator[tuple[File, str]]:
        """Yield the files that pass, with their texts, until the package has CAP_BYTES. They are tried in a random
        order that is always the same. Counts dropped files in `dropped` by reason.
        """
        size = 0
        for file in sorted(files, key=lambda file: _chance(file.path)):
            if size >= CAP_BYTES:
                dropped["cap"] += 1
                continue
            text, reason = self._judge(file)
            if reason:
                dropped[reason] += 1
            else:
                size += len(file.data)
                yield file, text

    def _judge(self, file: File) -> tuple[str, str]:
        """Return a file's text and why it is dropped, empty if it is kept."""
        if not licences.permissive(file.licence):
            return "", "licence"
        text, reason = filters.clean(file)
        if reason:
            return "", reason
        hashes = words(text)
        if self._overlap.shared(hashes):
            return "", "overlap"
        if self._duplicates.seen(hashes):
            return "", "duplicate"
        return text, ""


def split_of(group: str, name: str) -> str:
    """Return the split of a package. Whole packages are held out, by their name alone, so that the split never
    changes.
    """
    # Debian's `node-got` is another version of npm's `got`, so both must be in one split.
    known = name.lower().removeprefix("node-") if group == "javascript" else name.lower()
    number = int.from_bytes(sha256(known.encode()).digest()[:8], "big")
    return "heldout" if number % 100 < HELD_OUT_PERCENT[group] else "train"


def _chance(path: str) -> bytes:
    """Return a sort key that puts files in an order that never changes and does not depend on their content."""
    return sha256(path.encode()).digest()
