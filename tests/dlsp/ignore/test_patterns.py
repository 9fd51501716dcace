"""Patterns mean what they mean to git, and matching them is never slow."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlsp.ignore.patterns import MAX_PATTERN_CHARACTERS, MAX_PATTERNS, Patterns

PIECES = st.sampled_from(
    [
        *"aab*?/!#-. \\[]^",
        *("**", "**/", "/**", "/**/", "***", "a/", "/a", "aa", "\\a", "\\*", "\\/"),
        *("[ab]", "[!a]", "[^b]", "[a-b]", "[b-a]", "[]a]", "[!]a]", "[a-", "[\\]]", "[a/]", "[--a]"),
        *("[[:alpha:]]", "[[:digit:]b]", "[[:none:]]"),
    ]
)
LINES = st.lists(st.lists(PIECES, min_size=1, max_size=6).map("".join), min_size=1, max_size=4)
NAMES = st.text("aab]-*\\[#! .", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def excluded(patterns: Patterns, path: str) -> bool:
    """As git goes: what is in an excluded folder is excluded."""
    parts = path.split("/")
    folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return any(patterns.verdict(folder, folder=True) for folder in folders) or bool(
        patterns.verdict(path, folder=False)
    )


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, PATHS)
def test_as_git(repository: Path, lines: list[str], paths: list[str]) -> None:
    content = "\n".join(lines).encode()
    (repository / ".gitignore").write_bytes(content)
    asked = subprocess.run(
        ["git", "-c", "core.ignoreCase=false", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=repository,
        input="\0".join(paths).encode() + b"\0",
        capture_output=True,
    )
    assert asked.returncode in (0, 1), asked.stderr
    patterns = Patterns.read(content)
    assert {path for path in paths if excluded(patterns, path)} == set(asked.stdout.decode().split("\0")) - {""}


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 8 + "b", "a" * 60 + ".py"),
        ("*a" * 100 + "b", "a" * 255),
        ("*" + "a" * 200 + "b*", "a" * 255),
        ("*" + "[ab]" * 50 + "c*" + "[ab]" * 10, "ab" * 127),
        ("**/a/" * 50 + "b", "a/" * 99 + "a"),
        ("**/*a*a*a/" * 20 + "b", ("a" * 200 + "/") * 99 + "a"),
        ("?*" * 128, "a" * 255),
    ],
)
def test_no_pattern_is_slow(pattern: str, path: str) -> None:
    """A whole file of patterns like this one takes less than a second for a path."""
    lines = [pattern] * (256 * 1024 // len(pattern))
    patterns = Patterns(lines[:MAX_PATTERNS])
    began = time.process_time()
    excluded_ = patterns.verdict(path, folder=False)
    assert time.process_time() - began < 1
    assert excluded_ is None or "?" in pattern


def test_more_than_is_read() -> None:
    assert not Patterns(["a"] * MAX_PATTERNS).beyond
    assert Patterns(["a"] * (MAX_PATTERNS + 1)).beyond
    assert not Patterns(["#" * 1000, "a" * MAX_PATTERN_CHARACTERS]).beyond
    assert Patterns(["a" * (MAX_PATTERN_CHARACTERS + 1)]).beyond
