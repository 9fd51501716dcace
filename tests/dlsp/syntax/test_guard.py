"""No document ends the process that parses it."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest

from dlsp.syntax.guard import MAX_YAML_LEVELS, parsable
from dlsp.syntax.languages import LANGUAGES, Language
from dlsp.syntax.source import Source
from tests.dlsp.syntax.shapes import SHAPES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="each document is parsed in a fork")

YAML = next(each for each in LANGUAGES if each.name == "yaml")
# Bytes that the library gives to a grammar's scanner.
BUFFER = 1024
# Repetitions around the places where state of 1, 2, 3, 4 or 8 bytes a level fills the buffer.
SIZES = (127, 128, 200, 254, 255, 256, 257, 341, 512, 1023)
CASES = [(language, shape, size) for language in LANGUAGES for shape in SHAPES for size in SIZES]


def signals(language: Language, texts: list[str], seconds: float = 0.5) -> list[int]:
    """The signal that ended each document's process; 0 for none, and where it only took longer than that."""
    command = [sys.executable, "-m", "tests.dlsp.syntax.parsing", language.name, str(seconds)]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    return [0 if each == signal.SIGALRM else each for each in json.loads(done.stdout)]


def check(cases: list[tuple[Language, str, int]]) -> None:
    killed = []
    for language in LANGUAGES:
        mine = [(shape, size) for each, shape, size in cases if each is language]
        ended = signals(language, [SHAPES[shape](size) for shape, size in mine])
        killed += [(language.name, *case, number) for case, number in zip(mine, ended, strict=True) if number]
    assert killed == []


@pytest.mark.parametrize("shape", ["stairs", "stairs of lists", "lists", "keys", "values", "blocks"])
def test_deep_yaml_does_not_end_the_process(shape: str) -> None:
    ended = signals(YAML, [SHAPES[shape](size) for size in range(230, 300)])
    assert ended == [0] * 70


def test_a_sample_of_all_grammars_around_the_edge_of_their_buffers() -> None:
    check(random.Random(1).sample(CASES, 600))


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_all_grammars_around_the_edge_of_their_buffers(record_property: Callable[[str, object], None]) -> None:
    record_property("documents", len(CASES))
    check(CASES)


def test_yaml_in_use_is_parsed_and_longer_yaml_near_the_cursor_only() -> None:
    usual = "services:\n" + "  web:\n    image: a\n    ports:\n      - 80:80\n" * 40
    assert parsable(YAML, usual.encode())
    assert Source(YAML).update(usual)
    long = usual * 4
    source = Source(YAML)
    assert source.update(long) is None
    at = long.index("    ports", len(long) // 2)
    part = source.around(long[:at], long[at:], 400)
    assert part
    before, after = part
    assert Source(YAML).update(before + after)
    assert long[:at].endswith(before)
    assert long[at:].startswith(after)
    assert 300 < len(before) <= 400


def test_yaml_never_has_more_levels_than_fit() -> None:
    """Ten bytes and four a level; the markers of blocks are counted wherever they stand."""
    assert 10 + 4 * (MAX_YAML_LEVELS + 1) < BUFFER
    for marker in ("- ", "?\n", ":\t", "|\n", ">-\n", ">2-\r", "-\0"):
        assert parsable(YAML, (marker * MAX_YAML_LEVELS).encode())
        assert not parsable(YAML, ("x" + marker * (MAX_YAML_LEVELS + 1)).encode())


def test_the_guard_is_for_the_version_that_is_pinned() -> None:
    """Another version: look at how its scanner's `serialize` checks its buffer, and at dlsp/syntax/guard.py."""
    assert version("tree-sitter-yaml") == "0.7.2"
