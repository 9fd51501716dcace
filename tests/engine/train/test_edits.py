"""Training of edit updates: windows are those that the engine is asked about, and their new text is the right one."""

import gzip
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from dlsp.edits.history.edit import Edit
from dlsp_engine.model.update import Update, sha256
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import checkpoint, edits, stack
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.recipe import EditRecipe
from dlsp_engine.train.refactorings import argument, fewer_arguments, in_prose, rename, wrap
from dlsp_engine.train.windows import Windows, edited, weighed
from tests.engine.train.conftest import SMALL, tensors

BEFORE = "x = fee(1)\n\ny = fee(2)\nz = 3\nlast = fee(4)\n"
AFTER = "x = cost(1)\n\ny = cost(2)\nz = 3\nlast = cost(4)\n"
FOLLOWED = {
    "path": "a.py",
    "window_before": BEFORE,
    "window_after": AFTER,
    "hunks": [["replace", 0, 1, 0, 1], ["replace", 2, 3, 2, 3], ["replace", 4, 5, 4, 5]],
}
ALONE = {
    "path": "b.py",
    "window_before": BEFORE,
    "window_after": BEFORE.replace("x", "w", 1),
    "hunks": [["replace", 0, 1, 0, 1]],
}
RECIPE = EditRecipe(rank=4, tokens=2000, longest=4000, warm_up=2, lr=1e-2)
CALLS = ["def fee(a):\n", "    return a\n", "total = fee(1) + other(fee(2))\n", "# fee(3)\n"]


@pytest.fixture
def mined(tmp_path: Path) -> Path:
    path = tmp_path / "mined.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in (FOLLOWED, ALONE))
    return path


@pytest.fixture
def windows(mined: Path, corpus: Path) -> Windows:
    return Windows([mined], Documents(corpus, "train", 0), ByteTokenizer(), RECIPE)


def test_the_diff_is_the_one_that_the_server_sends() -> None:
    source = edited(FOLLOWED)
    for number, (start, end) in enumerate([(0, 1), (2, 3), (4, 5)]):
        lines = [str(line) for line in BEFORE.splitlines(keepends=True)]
        lines[start:end] = source.changes[number].lines
        assert source.diff(number) == Edit.between("a.py", BEFORE, "".join(lines)).diff()


def test_windows_are_drawn_by_kind_and_are_the_same_at_every_call(windows: Windows) -> None:
    assert windows.batch(1) == windows.batch(1) != windows.batch(2)
    drawn = {one.kind for turn in range(12) for one in windows.batch(turn)}
    assert drawn == {"mined", "refactored", "nothing", "done"}
    assert [one.kind for one in windows.held_out(1)] == ["mined", "refactored", "nothing", "done"]


@pytest.mark.parametrize("kind", ["mined", "refactored", "nothing", "done"])
def test_a_window_changes_where_something_follows_and_else_stays(windows: Windows, kind: str) -> None:
    tokenizer, rng = ByteTokenizer(), random.Random(0)
    for _ in range(20):
        one = windows.draw(rng, kind)
        prompt, answer = tokenizer.decode(one.prompt), tokenizer.decode(one.answer[:-1])
        assert one.answer[-1] == min(tokenizer.stops)
        assert len(one.shares) == len(one.answer)
        current, _, kept = prompt.rpartition("updated/")
        new = kept.partition("\n")[2] + answer
        stays = current.endswith(new)
        assert stays == (kind in ("nothing", "done"))
        assert stays == (1.0 not in one.shares)
        assert "edit.diff\n--- a/" in prompt
        if kind == "mined":
            assert "fee" not in answer, "all that follows in the window is done"


def test_places_that_change_count_in_full() -> None:
    assert weighed([1, 2, 3], [1, 5, 3], 0.1) == [0.1, 1.0, 0.1]
    assert weighed([1, 2, 3], [1, 3], 0.1) == [0.1, 1.0], "where the text goes on behind what is gone"
    assert weighed([1, 2], [1, 2], 0.1) == [0.1, 0.1]


def test_refactorings_change_every_place_of_one_name() -> None:
    rng = random.Random(1)
    renamed = rename(["value = 1\n", "print(value)\n"], rng)
    assert renamed
    assert "value" not in {word for line in renamed for word in line.replace("(", " ").replace(")", " ").split()}
    assert renamed[0].split(" ")[0] in renamed[1]
    assert rename(["value = 1\n", 'print("value", value)\n'], rng) is None, "a string has it too"
    more = argument(CALLS[:3], rng)
    assert more
    assert more[0].startswith("def fee(a, ")
    assert more[2].count(", ") == 2, "both calls"
    fewer = fewer_arguments(["f(a, b)\n", "x = f(1, 2)\n"], rng)
    assert fewer == ["f(a)\n", "x = f(1)\n"]
    assert wrap(CALLS[:3], rng) is None, "a definition cannot be wrapped"
    assert in_prose("x = 1  # fee(3)", 9)
    assert in_prose('x = "fee"', 5)
    assert not in_prose("x = fee(3)", 4)


@pytest.fixture
def command(small_weights: Path, mined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The command's arguments but for --out; its signal handlers are taken back afterwards."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(edits, "ModelTokenizer", lambda _: ByteTokenizer())
    recipe = tmp_path / "small.json"
    recipe.write_text(RECIPE.to_json())
    files = ["--edits", str(mined), "--held-out", str(mined), "--weights", str(small_weights), "--recipe", str(recipe)]
    yield [*files, "--base-sha256", "12ab", "--device", "cpu", "--float32", "--steps", "3", "--judge-windows", "2"]
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_an_update_is_trained(command: list[str], tmp_path: Path) -> None:
    assert edits.main([*command, "--out", str(tmp_path / "run")]) == 0
    path = tmp_path / "run" / checkpoint.EDIT_UPDATE
    with safe_open(path, "pt") as file:
        said = file.metadata()
    assert (said["base"], said["base_sha256"], said["steps"]) == ("small.gguf", "12ab", "3")
    assert {kind: score["windows"] for kind, score in json.loads(said["scores"]).items()} == {"mined": 2, "nothing": 2}
    assert LowRanks.read(path, SMALL).state_dict()["layers.1.down.b"].abs().sum() > 0
    assert torch.isfinite(LowRanks.read(path, SMALL).state_dict()["layers.0.qkv.a"]).all()


def test_clear_refusals(command: list[str], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match="is no recipe of an edit update"):
        edits.main([*command, "--recipe", str(tmp_path / "none.json"), *out])
    with pytest.raises(SystemExit, match=r"none.gz.* give a file of mined edits"):
        edits.main([*command, "--edits", str(tmp_path / "none.gz"), *out])


def noisy(path: Path, seed: int, **metadata: str) -> Path:
    torch.manual_seed(seed)
    update = LowRanks(SMALL, 2 + seed)
    for name, value in update.named_parameters():
        if name.endswith(".b"):
            torch.nn.init.normal_(value)
    checkpoint.export(path, update, metadata)
    return path


def test_a_stack_changes_weights_as_both_updates_do(tmp_path: Path, small: Weights) -> None:
    infill = noisy(tmp_path / "infill.safetensors", 1, version="one", base_sha256="12ab")
    edit = noisy(tmp_path / "edit.safetensors", 2, version="two", update_sha256=sha256(infill))
    both = tmp_path / "both.safetensors"
    assert stack.main([str(infill), str(edit), str(both)]) == 0
    expected, found = tensors(small), tensors(small)
    for path in (infill, edit):
        Update.of(path).add_to(expected, SMALL)
    Update.of(both).add_to(found, SMALL)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-4)
    said = Update.of(both).metadata
    assert (said["version"], said["base_sha256"], said["canvas_adapters"]) == ("one+two", "12ab", "[]")
    with pytest.raises(SystemExit, match="was not trained on the base with"):
        stack.main([str(edit), str(infill), str(both)])
