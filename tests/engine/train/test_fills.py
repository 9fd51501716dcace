"""Gaps made before training: what is read is what was drawn, and forward passes of many gaps at once are right."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from dlsp_engine.model.update import Update
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import base, checkpoint, edits, ends, fill_samples, fill_store, packed
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fill_store import Shard, StoredFills
from dlsp_engine.train.fill_trainer import judge
from dlsp_engine.train.fills import Fill, Fills
from dlsp_engine.train.gaps import ENDS
from dlsp_engine.train.packed import Packed
from dlsp_engine.train.recipe import EditRecipe, FillRecipe
from tests.engine.train.test_base import CPU, RECIPE, noisy
from tests.engine.train.test_edits import RECIPE as WINDOWS
from tests.engine.train.test_edits import mined as mined


@pytest.fixture(autouse=True)
def _bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_samples, "ModelTokenizer", lambda _: ByteTokenizer())


@pytest.fixture
def weights(small_weights: Path) -> Path:
    (small_weights / "tokenizer.json").write_text("{}")
    return small_weights


def recipe_file(folder: Path, recipe: FillRecipe | EditRecipe) -> Path:
    path = folder / "recipe.json"
    path.write_text(recipe.to_json())
    return path


@pytest.fixture
def gaps(corpus: Path, weights: Path, tmp_path: Path) -> Path:
    """Some hundred stored gaps."""
    recipe = recipe_file(tmp_path, RECIPE)
    command = ["--corpus", str(corpus), "--weights", str(weights), "--recipe", str(recipe), "--tokens", "20000"]
    assert fill_samples.main([*command, "--held-out-gaps", "2", "--out", str(tmp_path / "gaps")]) == 0
    return tmp_path / "gaps"


@pytest.fixture
def windows(mined: Path, corpus: Path, weights: Path, tmp_path: Path) -> Path:
    recipe = recipe_file(tmp_path, WINDOWS)
    command = ["--edits", str(mined), "--held-out", str(mined), "--corpus", str(corpus), "--weights", str(weights)]
    command += ["--recipe", str(recipe), "--tokens", "20000", "--held-out-gaps", "2"]
    assert fill_samples.main([*command, "--out", str(tmp_path / "windows")]) == 0
    return tmp_path / "windows"


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    fills = [
        Fill([1, 151_000, 3], [4, 5], "line", "python"),
        Fill([7], [8], "block", "cpp"),
        Fill([1, 2], [3, 4, 5], "span", "go"),
    ]
    fill_store.write(tmp_path / "one", fills)
    assert list(Shard(tmp_path / "one")) == fills
    weighed = [one._replace(shares=(0.25,) * (len(one.answer) - 1) + (1.0,)) for one in fills]
    fill_store.write(tmp_path / "two", weighed)
    assert list(Shard(tmp_path / "two")) == weighed


def test_stored_gaps_are_the_drawn_ones_and_fill_forward_passes(gaps: Path, corpus: Path) -> None:
    stored = StoredFills(gaps, "train", 900)
    index = fill_store.index(gaps)
    count = sum(index["shards"]["train"].values())
    turns = 0
    seen: list[Fill] = []
    while len(seen) < count:
        batch = stored.batch(turns)
        assert batch == StoredFills(gaps, "train", 900).batch(turns), "always the same"
        assert len(batch) == 1 or sum(len(one.prompt) + len(one.answer) for one in batch) <= 900
        seen += batch
        turns += 1
    assert stored.batch(turns) == stored.batch(0), "after the last they begin again"
    assert sum(len(one.prompt) + len(one.answer) for one in seen) == index["tokens"] >= 20_000
    assert sum(len(one.answer) for one in seen) == index["answers"]
    assert {one.kind for one in seen} == set(ENDS)
    held = StoredFills(gaps, "heldout", 900).held_out(2)
    assert held == Fills(Documents(corpus, "heldout", 0), ByteTokenizer(), RECIPE).held_out(2)


def test_an_interrupted_build_leaves_the_same_gaps(
    gaps: Path, corpus: Path, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fill_samples, "SHARD_TOKENS", 4000)
    command = ["--corpus", str(corpus), "--weights", str(weights), "--recipe", str(tmp_path / "recipe.json")]
    command += ["--held-out-gaps", "1"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert fill_samples.main([*command, "--tokens", "12000", "--out", str(whole)]) == 0
    assert len(fill_store.index(whole)["shards"]["train"]) >= 3
    written = fill_store.write

    def failing(path: Path, fills: list[Fill]) -> None:
        if path.name == "train-00001.npz.xz":
            raise KeyboardInterrupt
        written(path, fills)

    monkeypatch.setattr(fill_store, "write", failing)
    with pytest.raises(SystemExit, match="Stopped"):
        fill_samples.main([*command, "--tokens", "12000", "--out", str(broken)])
    monkeypatch.setattr(fill_store, "write", written)
    assert fill_samples.main([*command, "--tokens", "12000", "--out", str(broken)]) == 0
    files = sorted(path.name for path in whole.iterdir())
    assert [(broken / name).read_bytes() for name in files] == [(whole / name).read_bytes() for name in files]
    with pytest.raises(SystemExit, match="made with another recipe"):
        fill_samples.main([*command, "--recipe", "infill-cpu", "--out", str(whole)])


@pytest.mark.parametrize("least", [0, 3000])
def test_gaps_in_groups_are_as_gaps_one_by_one(small: Weights, gaps: Path, least: int) -> None:
    """In float32: hidden states and gradients, with rows behind the last gap and without."""
    batch = StoredFills(gaps, "train", 2500).batch(0)
    assert len(Packed.of(batch, CPU).groups[0]) < len(batch), "fewer calls than gaps"

    def run(way: packed.Way, rows: Packed) -> tuple[torch.Tensor, torch.Tensor]:
        parameters = noisy()
        states = packed.hidden(small, parameters.low(torch.float32), rows, way)
        shares = torch.ones(len(rows.targets))
        packed.backward(states, small.head, rows.targets, shares, 64, 1.0)
        return states.detach(), torch.cat([p.grad.flatten() for p in parameters.parameters() if p.grad is not None])

    states, gradient = run(packed.PLAIN, Packed.of(batch, CPU))
    found, slope = run(packed.GROUPED, Packed.of(batch, CPU, least))
    torch.testing.assert_close(found, states, rtol=1e-4, atol=1e-4)
    assert F.cosine_similarity(slope, gradient, dim=0) > 0.99999
    torch.testing.assert_close(slope, gradient, rtol=1e-3, atol=1e-5)


def test_a_heavier_end_comes_earlier(
    small: Weights, small_weights: Path, gaps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As judged at weight 1; an end that weighs more is too early more often, and too late less often."""
    held, update = StoredFills(gaps, "heldout", 0).held_out(2), noisy(scale=0.3)
    judged = judge(small, update, held, CPU)["all"]
    of_gaps = [ends.leads(small, update, one, CPU) for one in held]
    assert ends.errors(of_gaps, 1.0) == (judged.early, judged.late)
    early, late = zip(*(ends.errors(of_gaps, weight) for weight in (1e-9, 1.0, 1e9)), strict=True)
    assert list(early) == sorted(early)
    assert list(late) == sorted(late, reverse=True)
    assert (early[0], late[0], early[2], late[2]) == (0, 1, 1, 0)
    assert ends.main(["--fills", str(gaps), "--weights", str(small_weights), "--device", "cpu", "--gaps", "1"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == ["rest", "all", *list(ENDS)[1:]]


@pytest.fixture
def run(weights: Path) -> Iterator[list[str]]:
    """Options of both training commands; their signal handlers are taken back afterwards."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield ["--weights", str(weights), "--base-sha256", "12ab", "--device", "cpu", "--float32", "--steps", "2"]
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_updates_are_trained_on_stored_gaps(run: list[str], gaps: Path, windows: Path, tmp_path: Path) -> None:
    command = [*run, "--fills", str(gaps), "--rank", "2", "--judge-gaps", "2", "--out", str(tmp_path / "infill")]
    assert base.main(command) == 0
    said = Update.of(tmp_path / "infill" / checkpoint.UPDATE).metadata
    assert (said["corpus"], said["steps"], json.loads(said["recipe"])) == (
        "abc",
        "2",
        json.loads(RECIPE.to_json()) | {"rank": 2},
    )
    assert json.loads(said["scores"])["all"]["gaps"] == 2 * len(ENDS)
    command = [*run, "--fills", str(windows), "--judge-windows", "2", "--out", str(tmp_path / "edit")]
    assert edits.main(command) == 0
    said = Update.of(tmp_path / "edit" / checkpoint.EDIT_UPDATE).metadata
    assert said["edits"] == fill_store.index(windows)["made"]["edits"]
    assert json.loads(said["scores"]).keys() == {"mined", "refactored", "nothing", "done"}


def test_clear_refusals(run: list[str], gaps: Path, windows: Path, weights: Path, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match=r"training of another kind \(edit\)"):
        base.main([*run, "--fills", str(windows), *out])
    with pytest.raises(SystemExit, match="made with another 'longest'"):
        base.main([*run, "--fills", str(gaps), "--recipe", "infill-gpu", *out])
    with pytest.raises(SystemExit, match=r"no gaps in .*dlsp train fills"):
        base.main([*run, "--fills", str(tmp_path), *out])
    with pytest.raises(SystemExit, match="Give --fills, or --edits and --held-out"):
        edits.main([*run, *out])
    with pytest.raises(SystemExit, match="Give --corpus for gaps"):
        fill_samples.main(["--weights", str(weights), *out])


def test_recipes_for_a_gpu_can_be_read() -> None:
    recipe = FillRecipe.read("infill-gpu")
    assert recipe.kinds.keys() == ENDS.keys()
    assert 30_000 <= recipe.tokens * recipe.accumulate <= 60_000
    assert EditRecipe.read("edit-gpu").kinds == EditRecipe().kinds
