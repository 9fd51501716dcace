"""What is played: the scripts give the text that they come from, keys and times are a person's."""

import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from bench.replay import edits, files
from bench.replay.pace import MEAN_S, Pace
from bench.replay.scripts import Delete, Move, Script, Write, keys, ordered
from dlsp.errors import UserError
from dlsp_engine.train.corpus import shards
from dlsp_engine.train.corpus.build import Order
from dlsp_engine.train.corpus.shards import Row
from tests.bench.conftest import WriteSet

BEFORE = "a = 1\nb = old_name(1)\nc = 3\nd = 4\ne = 5"
AFTER = "a = 1\nb = new_name(1)\nx = 0\nc = 3\ne = 5"
HUNKS = [["replace", 1, 2, 1, 2], ["insert", 2, 2, 2, 3], ["delete", 3, 4, 4, 4]]


def result(script: Script) -> str:
    text, cursor = script.text, 0
    for step in script.steps:
        if isinstance(step, Move):
            cursor = step.to
        elif isinstance(step, Delete):
            text = text[: cursor - step.count] + text[cursor:]
            cursor -= step.count
        else:
            text = text[:cursor] + step.text + text[cursor:]
            cursor += len(step.text)
    return text


def row(package: str, language: str, text: str, path: str) -> Row:
    return Row(text=text, path=path, package=package, version="1", language=language, licence="MIT", split="heldout")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(80)]
    rows = [row(f"p{n}", "python", "".join(lines[n:]), f"p{n}/m{at}.py") for n in range(30) for at in range(2)]
    for n in range(5):
        rows += [row(f"j{n}", "javascript", "".join(lines[n:]), f"j{n}/{at}.js") for at in range(4)]
        rows += [row(f"j{n}", "typescript", "".join(lines[n + 9 :]), f"j{n}/{at}.ts") for at in range(4)]
    rows += [row("g", "go", "".join(lines), f"g/{at}.go") for at in range(9)]
    shards.append(tmp_path, [], "heldout", rows)
    return tmp_path


@pytest.fixture
def edit_sets(write_set: WriteSet) -> None:
    base = {"window_before": BEFORE, "repo": "r", "path": "src/x.py"}
    for name in edits.SETS["test"]:
        rows = [base | {"id": "1", "window_after": AFTER, "hunks": HUNKS}]
        rows += [base | {"id": "2", "window_after": BEFORE + "\n" + "z" * 999, "hunks": [["insert", 5, 5, 5, 6]]}]
        write_set(f"edits/{name}.jsonl.gz", rows)


def test_a_key_is_a_character_or_a_line_break_with_its_indentation():
    assert list(keys("ab\n    c\n\n  d\n")) == ["a", "b", "\n    ", "c", "\n", "\n  ", "d", "\n"]


def test_times_are_those_of_typists_and_the_same_each_time():
    paces = [Pace(f"script {n}") for n in range(300)]
    assert statistics.mean(pace.mean_s for pace in paces) == pytest.approx(MEAN_S, rel=0.1)
    typed = list("word") * 500
    times = paces[0].times(typed)
    assert times == Pace("script 0").times(typed)
    assert statistics.mean(times) == pytest.approx(paces[0].mean_s, rel=0.1)
    assert statistics.mean(paces[0].times(["\n    ", "x"] * 500)[1::2]) > 2 * paces[0].mean_s, (
        "people think before a line"
    )


def test_edits_give_the_text_after_and_leave_alone_what_stays(edit_sets: None):
    script = edits.scripts("test")[0]
    assert result(script) == AFTER
    assert script.steps[0] == Move(BEFORE.index("old") + 3), "what both names share is not typed again"
    assert script.steps[1:5] == (Delete(1), Delete(1), Delete(1), Write("new"))
    assert script.characters == len("new" + "\nx = 0")


def test_a_long_deletion_is_one_key_and_a_long_text_no_script(edit_sets: None):
    scripts = edits.scripts("test")
    assert [script.id for script in scripts] == ["dev/1", "negatives-dev/1"]
    assert list(edits._edit(0, "x" * 30, "")) == [Move(30), Delete(30)]


def test_without_edits_one_sentence_says_what_to_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    with pytest.raises(UserError, match=r"Set DLSP_EVAL_DIR to a folder that has edits/.*edits mined for this project"):
        edits.scripts("test")


def test_files_are_written_anew_in_whole_lines(corpus: Path):
    scripts, packages = files.scripts(corpus, "test")
    texts = {(row["package"], row["path"]): row["text"] for of in packages.values() for row in of}
    number = Counter(language for language, _ in {(script.language, script.group) for script in scripts})
    assert number == {each: files.FILES[each] for each in ("python", "typescript", "javascript", "go")}
    for script in scripts:
        assert result(script) == texts[script.folder, script.path]
        written = script.steps[1]
        assert isinstance(written, Write)
        assert written.text == written.text.strip()
        assert script.characters >= files.CHARACTERS - 4


def test_fitting_takes_other_packages(corpus: Path):
    test, fit = (files.scripts(corpus, split)[0] for split in files.SPLITS)
    assert not {script.group for script in test} & {script.group for script in fit}
    assert not {script.folder for script in test} & {script.folder for script in fit}
    assert {script.language for script in test} == {"python", "typescript", "javascript", "go"}
    assert {script.language for script in fit} == {"python", "typescript", "javascript"}, "there is one package of Go"


def test_no_file_on_disk_has_what_is_written(corpus: Path, tmp_path: Path):
    scripts, packages = files.scripts(corpus, "test")
    files.lay_out(tmp_path / "root", packages, scripts)
    for script in scripts:
        written = script.steps[1]
        assert isinstance(written, Write)
        lies = (tmp_path / "root" / script.folder / script.path).read_text()
        assert written.text not in lies
        assert len(lies) < len(script.text), "nor what the other script of this file writes"


def test_a_folder_without_a_corpus_is_one_sentence(tmp_path: Path):
    with pytest.raises(UserError, match="dlsp train corpus"):
        files.corpus(tmp_path)


def test_where_there_is_no_corpus_one_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DLSP_CORPUS_DIR", raising=False)
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    asked: list[set[str]] = []

    def build(out: Path, orders: Sequence[Order]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        asked.append({order.source for order in orders})

    monkeypatch.setattr(files, "build", build)
    monkeypatch.delenv(files.MIRROR, raising=False)
    assert files.corpus(None) == files.corpus(None)
    assert asked == [{"pypi", "npm"}]
    monkeypatch.setenv(files.MIRROR, "https://mirror.invalid/debian")
    assert files.corpus(None) == files.corpus(None)
    assert asked[1:] == [{"pypi", "npm", "debian"}]


def test_what_cannot_be_fetched_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DLSP_CORPUS_DIR", raising=False)
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    with pytest.raises(UserError, match="DLSP_EVAL_DIR"):
        files.corpus(None)


def test_the_first_in_order_are_a_sample(corpus: Path, edit_sets: None):
    written, _ = files.scripts(corpus, "test")
    scripts = ordered(written + edits.scripts("test"), "x")
    assert scripts == ordered(reversed(scripts), "x")
    folders = [script.folder for script in scripts if script.folder]
    changes = sum(one != other for one, other in pairwise(folders))
    assert changes == len(set(folders)) - 1, "a workspace is opened once"
    assert folders != sorted(folders)
