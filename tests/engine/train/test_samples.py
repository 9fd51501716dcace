"""Samples: the engine's own template, full rows, the same again after a kill."""

import random
from pathlib import Path

import numpy as np
import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import File, Gap, prompt
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import evaluate, gaps, samples, segments, store
from dlsp_engine.train.segments import MIDDLE, START, TEXT

TOKENIZER = ByteTokenizer()
TEXT_OF_A_FILE = (
    "import os\n\n\nclass Area:\n    def of(self, w, h):\n        size = w * h\n        return size\n\n"
    "    def none(self):\n        return 0\n\n\nfor name in os.listdir():\n    print(name)\n    print(len(name))\n"
)


@pytest.mark.parametrize("kind", gaps.ENDS)
def test_every_kind_is_cut(kind: str):
    rng = random.Random(1)
    cuts = {span for _ in range(900) if (span := gaps.cut(TEXT_OF_A_FILE, kind, rng))}
    found = {TEXT_OF_A_FILE[start:end] for start, end in cuts}
    assert all(text.strip() for text in found)
    if kind == "rest":
        assert "print(name)" in found
        assert "w * h" in found
        assert not any("\n" in text for text in found)
    elif kind == "line":
        assert {"    print(name)\n", "    print(name)", "print(name)"} <= found
    elif kind == "inside":
        assert "name" in found
        assert "w * h" not in found, "nothing behind it closes"
        assert {"self, w, h", "os.listdir("} <= found
        assert not any("\n" in text for text in found)
    elif kind == "lines":
        assert "    print(name)\n    print(len(name))" in found
        assert all(len(text.strip("\n").split("\n")) >= 2 for text in found)
    elif kind == "block":
        assert "print(name)\n    print(len(name))" in found
        assert not any(text.startswith("size") and "def none" in text for text in found), "a block ends at a dedent"
    elif kind == "body":
        assert {"size = w * h\n        return size", "return 0", "        return 0"} <= found
    else:
        assert any("\n" in text for text in found)


def test_a_body_in_braces():
    text = "package a;\n\nint f(int x) {\n    int y = x;\n    return y;\n}\n\nint z;\n"
    cuts = [gaps.cut(text, "body", random.Random(seed)) for seed in range(20)]
    assert {text[a:b].lstrip() for a, b in filter(None, cuts)} == {"int y = x;\n    return y;"}


def test_a_gap_inside_a_condition_ends_before_its_bracket():
    text = "int f(int x) {\n    if (x > limit(3)) {\n        return 1;\n    }\n    return 0;\n}\n"
    cuts = {span for seed in range(400) if (span := gaps.cut(text, "inside", random.Random(seed)))}
    assert "x > limit(3)" in {text[start:end] for start, end in cuts}
    assert {text[end] for _, end in cuts} == {")", ";"}


@pytest.mark.parametrize("files", [(), (File("b.py", "x = 1\n"),)])
def test_a_segment_is_what_the_engine_sends(files: tuple[File, ...]):
    """Prompt and forced bytes are the engine's; a canvas may follow from the prompt's last token on."""
    gap = Gap("def area(w, h):\n    re", "\n\nprint(area(1, 2))\n", path="a.py", files=files)
    made = segments.filled(gap, "turn w * h", TOKENIZER, 400)
    request = prompt(gap, TOKENIZER)
    assert made
    assert made.tokens == request.tokens + TOKENIZER.encode("eturn w * h")
    assert request.forced == b"e"
    first = len(request.tokens) - 1
    assert [i for i, mark in enumerate(made.marks) if mark & MIDDLE] == list(range(first, len(made.tokens) - 1))
    assert [i for i, mark in enumerate(made.marks) if mark & TEXT] == list(range(segments.MIN_CONTEXT_TOKENS, first))
    assert [i for i, mark in enumerate(made.marks) if mark & START] == [0]


def test_a_long_prompt_is_cut_at_its_far_ends():
    """At line borders, and inside only where a line alone is too long."""
    lines = Gap("".join(f"before {i:02}\n" for i in range(30)), "".join(f"\nafter {i:02}" for i in range(20)))
    made = segments.filled(lines, "value", TOKENIZER, 100)
    assert made
    assert 80 <= len(made.tokens) <= 100
    marks = TOKENIZER.prefix, TOKENIZER.suffix, TOKENIZER.middle
    first, behind, end = (made.tokens.index(mark) for mark in marks)
    assert first == 0
    assert TOKENIZER.decode(made.tokens[:behind]).startswith("before ")
    assert TOKENIZER.decode(made.tokens[:behind]).endswith("before 29\n")
    assert TOKENIZER.decode(made.tokens[behind:end]).startswith("\nafter 00\nafter 01")
    assert TOKENIZER.decode(made.tokens[behind:end]).endswith("\n")
    assert TOKENIZER.decode(made.tokens[end:]) == "value"
    long = segments.filled(Gap("a" * 300 + "near = ", "\nnext" + "z" * 200), "value", TOKENIZER, 100)
    assert long
    assert 60 < len(long.tokens) <= 100
    assert "anear =" in TOKENIZER.decode(long.tokens)
    assert segments.filled(lines, "v" * 90, TOKENIZER, 100) is None, "a gap must leave room for its context"


def test_rows_are_full_and_in_the_template(small_samples: Path):
    rows = store.Samples(small_samples, "train")
    tokens, marks = rows.take(0, rows.rows)
    assert tokens.shape == (40, 256)
    starts = marks & START
    assert starts[:, 0].all(), "a row starts with a segment"
    assert starts.astype(bool).sum() > 60, "short segments share a row"
    assert not (marks[:, -1] & (MIDDLE | TEXT)).any(), "nothing can follow the last token"
    assert (marks & MIDDLE).astype(bool).mean() > 0.03
    for special in (TOKENIZER.prefix, TOKENIZER.suffix, TOKENIZER.middle, TOKENIZER.file):
        assert (tokens == special).any()
    again, _ = rows.take(rows.rows + 3, 1)
    assert (again == tokens[3]).all(), "used up rows come again"


def test_planes_keep_large_tokens(tmp_path: Path):
    tokens = np.array([[0, 65535, 65536, 151_935]], np.int64)
    marks = np.array([[4, 1, 2, 0]], np.uint8)
    store.write(tmp_path / "a.npz.xz", tokens, marks)
    read_tokens, read_marks = store.read(tmp_path / "a.npz.xz")
    assert read_tokens.tolist() == tokens.tolist()
    assert read_marks.tolist() == marks.tolist()


def shas(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_killed_build_gives_the_same_files(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(samples, "HELD_OUT_ROWS", 4)
    monkeypatch.setattr(store, "SHARD_TOKENS", 8 * 128)
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def build(out: Path) -> None:
        samples.build(corpus, out, TOKENIZER, tokens=24 * 128, length=128, seed=3)

    build(whole)
    write = store.write
    monkeypatch.setattr(store, "write", lambda path, *rest: write(path, *rest) if "00001" not in path.name else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build(killed)
    assert not (killed / "train-00001.npz.xz").exists()
    monkeypatch.setattr(store, "write", write)
    build(killed)
    assert shas(killed) == shas(whole)
    assert store.index(whole)["position"]["train"] >= 3, "every shard goes on with other documents"
    assert {"train-00000.npz.xz", "train-00002.npz.xz", "heldout-00000.npz.xz", samples.GAPS} <= shas(whole).keys()


def test_other_settings_are_refused(corpus: Path, small_samples: Path, tmp_path: Path):
    with pytest.raises(EngineError, match="another length"):
        samples.build(corpus, small_samples, TOKENIZER, tokens=256, length=128, seed=0)
    with pytest.raises(EngineError, match="no finished corpus"):
        samples.build(tmp_path, tmp_path / "out", TOKENIZER, tokens=256, length=128, seed=0)


def test_held_out_gaps_come_from_held_out_packages(small_samples: Path):
    held = evaluate.read(small_samples / samples.GAPS)
    assert {one.kind for one in held} == set(gaps.ENDS)
    assert all(one.gap.path.startswith("p3/") for one in held)
    assert any(one.gap.files for one in held)
    assert len(evaluate.read(small_samples / samples.GAPS, 4)) == 4
