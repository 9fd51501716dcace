"""An incremental parse is the parse."""

import gc
import random
import time
import tracemalloc

import pytest

from dlsp.syntax import languages
from dlsp.syntax import source as module
from dlsp.syntax.source import Source

TEXTS = {
    "a.py": "import os\n\n\nclass A:\n    def f(self, x):\n        return [x, 'é']\n",
    "a.js": "import x from 'y';\nfunction f(a) { return { b: a }; }\n",
    "a.tsx": "const f = (a: number) => <b>{a}</b>;\n",
    "a.ts": "interface A { b: string }\n",
    "a.go": "package a\n\nfunc F(a int) int {\n\treturn a\n}\n",
    "a.rs": "use a::b;\nfn f(a: i32) -> i32 { a }\n",
    "A.java": "class A { int f(int a) { return a; } }\n",
    "a.c": "#include <a.h>\nint f(int a) { return a; }\n",
    "a.cpp": "template <class T> T f(T a) { return a; }\n",
    "A.cs": "class A { int F(int a) { return a; } }\n",
    "a.rb": "class A\n  def f(a)\n    a\n  end\nend\n",
    "a.lua": "local function f(a) return a end\n",
    "a.sh": 'f() { echo "$1"; }\n',
    "a.json": '{"a": [1, 2]}\n',
    "a.yaml": "a:\n  - b: 1\n",
    "a.toml": "[a]\nb = 1\n",
    "a.html": "<p>a <b>c</b></p>\n",
    "a.css": "a { color: red; }\n",
    "a.md": "# a\n\n- b\n",
}
PIECES = ["x", " ", "\n", "(", ")", "{", "}", '"', "é", "😋", "def f():\n    ", "\ud83d", "\r\n", "\0"]


def source(path: str) -> Source:
    language = languages.of(path)
    assert language, path
    return Source(language, None)


@pytest.mark.parametrize("path", TEXTS)
def test_every_language_parses(path: str) -> None:
    kept = source(path)
    tree = kept.update(TEXTS[path])
    assert tree
    assert kept.errors(tree, 0) == 0
    assert tree.root_node.named_child_count


@pytest.mark.parametrize("path", TEXTS)
def test_random_edits_parse_as_from_the_start(path: str) -> None:
    chance = random.Random(path)
    text, kept = TEXTS[path], source(path)
    kept.update(text)
    for _ in range(40):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 0, 0, 1, 5]))
        text = text[:start] + chance.choice(PIECES) + text[end:]
        tree, fresh = kept.update(text), source(path).update(text)
        assert tree
        assert fresh
        assert tree.root_node.end_byte == fresh.root_node.end_byte
        if not fresh.root_node.has_error:  # recovery from errors may differ, and does
            assert str(tree.root_node) == str(fresh.root_node)


def test_what_is_imagined_is_forgotten() -> None:
    kept = source("a.py")
    before = str(kept.update("a = 1\n").root_node)  # type: ignore[union-attr]
    assert kept.errors(kept.imagined(b"a = = 1\n"), 0) == 1
    assert str(kept.update("a = 1\n").root_node) == before  # type: ignore[union-attr]
    assert str(kept.update("a = 1\nb = 2\n").root_node) == str(source("a.py").update("a = 1\nb = 2\n").root_node)  # type: ignore[union-attr]


def test_a_document_of_many_megabytes_is_plain_text() -> None:
    assert source("a.py").update("x = 1\n" * 1_000_000) is None


def test_errors_are_counted_around_a_place() -> None:
    kept = source("a.py")
    tree = kept.update("x = = 1\n" + "y = 2\n" * 20_000 + "f(\n")
    assert [kept.errors(tree, at) > 0 for at in (0, 60_000, 120_000)] == [True, False, True]


def test_deep_trees() -> None:
    kept = source("a.py")
    assert kept.errors(kept.update("[" * 20_000), 10_000) > 0


def test_a_slow_parse_is_followed_by_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLOW_PARSE_S", 0)
    kept = source("a.py")
    assert kept.update("x = 1\n")
    assert kept.update("x = 12\n")
    kept._pause_ends += 60
    assert kept.update("x = 123\n") is None
    kept._pause_ends = 0
    tree = kept.update("x = 1234\n")
    assert tree
    assert str(tree.root_node) == str(source("a.py").update("x = 1234\n").root_node)  # type: ignore[union-attr]


def test_a_keystroke_in_fifty_thousand_lines() -> None:
    """Takes a fraction of the processor's time that the first parse takes, whatever the machine."""
    methods = "".join(f"    def f{number}(self, a):\n        return a + {number}\n\n" for number in range(16))
    text, kept = "".join(f"class A{number}:\n{methods}" for number in range(1_020)), source("a.py")
    assert text.count("\n") >= 50_000 - 1000
    began = time.process_time()
    kept.update(text)
    whole = time.process_time() - began
    at = text.index("        return a", len(text) // 2)
    text = text[:at] + "        \n" + text[at:]
    at += 8
    times = []
    for char in "total = self.compute(first, second) + other[index]":
        text = text[:at] + char + text[at:]
        at += 1
        began = time.process_time()
        kept.update(text)
        times.append(time.process_time() - began)
    assert sorted(times)[len(times) // 2] < whole / 5


@pytest.mark.parametrize("size", [0, 1, 5, 16_383, 16_384, 16_385, 50_000])
def test_a_content_is_read_whole(size: int) -> None:
    content = bytes(random.Random(size).choices(range(256), k=size))
    read, at = b"", 0
    while piece := module._piece(content, at, None):
        read += piece
        at += len(piece)
    assert read == content


def test_parses_keep_no_memory() -> None:
    """The library keeps what a parse has read; it reads from the same few buffers."""
    python = languages.of("a.py")
    assert python
    content = b"def f(a):\n    return a\n" * 600
    assert module.parsed(python.parser(), content)
    tracemalloc.start()
    try:
        for number in range(200):
            assert module.parsed(python.parser(), content + b"x = %d\n" % number)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 200_000
