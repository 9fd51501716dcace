"""Find the test of an implementation file, or the implementation of a test."""

import re
import sqlite3
from pathlib import PurePath

from dlsp.context.parts import Part
from dlsp.ignore import Rules, Verdicts
from dlsp.index.store import Store, stem

MAX_DEFINITIONS = 30
_NAMES = ("test_{}", "{}_test", "{}_tests", "{}_spec", "{}test", "{}tests", "{}spec")
_KINDS = {"test", "tests", "__tests__", "spec", "specs", "unit", "integration", "functional", "e2e"}
_TEST = re.compile(r"(?:test|spec)_(.+)|(.+?)(?:_tests?|_spec|Tests?|Spec)")


def pair(index: Store, rules: Rules | Verdicts, path: str, family: str) -> list[Part]:
    """Outlines of the file's counterpart (implementation of a test, test of an implementation); empty if there
    is none."""
    try:
        for other in _others(index, path, family):
            if not rules.excludes_source(rules.root / other):
                why = "what this file tests" if is_test(path) else "the test of this file"
                found = index.in_file(other, MAX_DEFINITIONS)
                return [Part(other, each.symbol.row, each.symbol.text, why) for each in found]
    except sqlite3.Error:
        pass
    return []


def is_test(path: str) -> bool:
    """Whether the file's name marks it as a test."""
    name = PurePath(path).name
    return bool(_TEST.fullmatch(name.split(".")[0])) or ".test." in name or ".spec." in name


def bare(path: str) -> str:
    """The file name up to its first dot, in lower case, without the test prefix or suffix."""
    found = _TEST.fullmatch(PurePath(path).name.split(".")[0])
    return next(filter(None, found.groups())).lower() if found else stem(path)


def _others(index: Store, path: str, family: str) -> list[str]:
    """Counterpart files with the same bare name, those sharing the most folders first."""
    name = bare(path)
    stems = [name] if is_test(path) else [name, *(mark.format(name) for mark in _NAMES)]
    found = [other for each in stems for other in index.files(each, family)]
    found = [other for other in found if other != path and is_test(other) != is_test(path)]
    near = {other: _nearness(other, path) if is_test(other) else _nearness(path, other) for other in found}
    return sorted((other for other in near if near[other] >= 0), key=lambda other: -near[other])


def _nearness(test: str, tested: str) -> int:
    """The number of folders a test shares with the file it may test; -1 if its folders name another part of the
    workspace."""
    folders = set(PurePath(test).parts[:-1]) - _KINDS
    shared = folders & set(PurePath(tested).parts[:-1])
    return len(shared) if shared or not folders else -1
