"""Runs of the trainer: overfitting is seen at run time, a resumed run is the same run."""

import json
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, prompt
from dlsp_engine.text.tokenizer import ByteTokenizer
from dlsp_engine.train import adapter, checkpoint
from dlsp_engine.train.evaluate import HeldOut, Measured, measure, summary
from dlsp_engine.train.model import CanvasModel, Parameters, layer_forward
from dlsp_engine.train.recipe import Recipe
from dlsp_engine.train.score import score
from dlsp_engine.train.segments import MIDDLE, START
from dlsp_engine.train.store import Samples
from dlsp_engine.train.trainer import AVERAGE_LATENESS, CanvasTrainer, Trainer
from dlsp_kernels import rope_table

ANSWER, WIDTH = 16, 3


class Rows(Samples):
    """Samples in memory."""

    def __init__(self, tokens: np.ndarray, marks: np.ndarray) -> None:
        self.rows = len(tokens)
        self._tokens, self._marks = tokens, marks

    def take(self, start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.arange(start, start + count) % self.rows
        return self._tokens[numbers], self._marks[numbers]


def self_generated(engine: Engine, count: int) -> tuple[list[Gap], Rows]:
    """Gaps of one length, and rows of their prompts with the base's own greedy answers."""
    gaps, rows, marks = [], [], []
    number = 0
    while len(gaps) < count:
        gap = Gap(f"value_{number:04} = compute(", f"){number:04}\n")
        number += 7
        base = engine.fill(gap, Options(mode="autoregressive", max_tokens=ANSWER))
        if len(base.tokens) < ANSWER:
            continue
        request = prompt(gap, engine.tokenizer).tokens
        mark = [0] * (len(request) - 1) + [MIDDLE] * ANSWER + [0]
        mark[0] |= START
        gaps.append(gap)
        rows.append(request + list(base.tokens))
        marks.append(mark)
    return gaps, Rows(np.array(rows), np.array(marks, np.uint8))


@pytest.fixture
def engine(small: Weights) -> Engine:
    return Engine(Qwen2(small), ByteTokenizer())


def test_overfitting_is_seen_at_run_time(engine: Engine, small: Weights, tmp_path: Path):
    """50 samples: the engine's own decoding must then accept nearly every draft."""
    gaps, rows = self_generated(engine, 50)
    torch.manual_seed(0)
    parameters = Parameters(small, rank=16)
    model = CanvasModel(small, parameters)
    recipe = Recipe(batch=25, accumulate=1, rows=ANSWER * WIDTH, widths=str(WIDTH), lr=2e-2, warm_up=5, reveal=0.0)
    trainer = CanvasTrainer(model, rows, recipe, head_rows=2048)
    before = score(model, rows, 50, ANSWER, WIDTH, 25, 2048)
    steps = 200
    while trainer.step < steps:
        trainer.advance(recipe.rate(trainer.step, trainer.step / steps))
    after = score(model, rows, 50, ANSWER, WIDTH, 25, 2048)
    assert before.tau < 2 < 0.95 * (1 + WIDTH) < after.tau
    checkpoint.export(tmp_path / "a.safetensors", parameters, {"base": "small.gguf"})
    trained = Adapter.load(tmp_path / "a.safetensors", "small.gguf", small.architecture, torch.float32)
    engine.model.adapter = trained
    forwards = {"split": 0, "merged": 0}
    for gap in gaps:
        for schedule in forwards:
            options = Options(schedule=schedule, draft=WIDTH, copy=False, max_tokens=ANSWER)
            forwards[schedule] += engine.fill(gap, options).cost.forwards
    ideal = {"split": 7, "merged": 5}  # 1, 4, 1, 4, … and 1, 4, 4, … tokens of 16
    for schedule, least in ideal.items():
        assert forwards[schedule] <= 1.1 * 50 * least, (schedule, forwards)


def test_offline_foretells_run_time(engine: Engine, small: Weights, tmp_path: Path):
    """Forwards from teacher forcing equal those that the engine takes, gap by gap, in float32."""
    gaps, rows = self_generated(engine, 8)
    torch.manual_seed(0)
    parameters = Parameters(small, rank=16)
    recipe = Recipe(batch=8, accumulate=1, rows=ANSWER * WIDTH, widths=str(WIDTH), lr=1e-2, warm_up=5, reveal=0.0)
    trainer = CanvasTrainer(CanvasModel(small, parameters), rows, recipe, head_rows=2048)
    for _ in range(25):  # until drafts are right now and then
        trainer.advance(1e-2)
    checkpoint.export(tmp_path / "a.safetensors", parameters, {"base": "small.gguf"})
    engine.model.adapter = Adapter.load(tmp_path / "a.safetensors", "small.gguf", small.architecture, torch.float32)
    model = CanvasModel(small, Parameters.load(tmp_path / "a.safetensors", small))
    ends = [Gap("x = open(", ")"), Gap("", ""), Gap("for name in na", "mes:\n")]
    held = [HeldOut(gap, kind, "python") for gap in gaps + ends for kind in ("span", "rest")]
    measured = list(measure(engine, model, held, WIDTH))
    assert all(one.same for one in measured)
    assert [one.predicted for one in measured] == [one.forwards for one in measured]
    scores = summary(measured, WIDTH)
    assert scores["merged"]["tau"] == scores["merged"]["offline_tau"] > 1.1, "drafts must stand now and then"
    assert scores["split"]["interval"][0] <= scores["split"]["tau"] <= scores["split"]["interval"][1]
    assert set(scores["split"]["kind"]) == {"span", "rest"}


def test_gaps_of_one_package_are_no_witnesses_of_their_own():
    """Ten gaps of each of eight packages: what is base of other packages is as sure as by one gap of each."""

    def held(gaps: int) -> list[Measured]:
        taken = [
            Measured("line", "python", 12, {"split": 4 + number, "merged": 4}, {}, [], True, f"p{number}")
            for number in range(8)
        ]
        return [one for one in taken for _ in range(gaps)]

    intervals = [summary(held(gaps), 4)["split"]["interval"] for gaps in (1, 10)]
    assert intervals[0] == intervals[1]
    assert intervals[0][0] < intervals[0][1]


@pytest.fixture
def command(small_weights: Path, small_samples: Path) -> Iterator[list[str]]:
    """The command's arguments but for --out; its signal handlers are taken back afterwards."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    arguments = ["--samples", str(small_samples), "--weights", str(small_weights), "--base-sha256", "12ab"]
    arguments += ["--device", "cpu", "--float32", "--every-step", "--rank", "4", "--batch", "2", "--accumulate", "2"]
    arguments += ["--rows", "32", "--widths", "4,2", "--warm-up", "2", "--judge-rows", "4", "--steps", "6"]
    yield arguments
    for number, handler in handlers.items():
        signal.signal(number, handler)


def losses(folder: Path) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def test_a_resumed_run_takes_the_same_steps(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Weights
):
    """SIGTERM at the third step leaves a checkpoint; what goes on from it has the losses of an unbroken run."""
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    assert adapter.main([*command, "--out", str(whole)]) == 0
    advance = Trainer.advance

    def ending(self: Trainer, rate: float):
        if self.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return advance(self, rate)

    monkeypatch.setattr(Trainer, "advance", ending)
    with pytest.raises(SystemExit, match="Stopped after step 3"):
        adapter.main([*command, "--out", str(ended)])
    monkeypatch.setattr(Trainer, "advance", advance)
    assert adapter.main([*command, "--out", str(ended)]) == 0
    assert losses(ended) == losses(whole)
    assert len(losses(whole)) == 6
    for name in ("mask_embedding", "layers.1.down.b"):
        left, right = (
            Parameters.load(folder / checkpoint.ADAPTER, small).state_dict()[name] for folder in (whole, ended)
        )
        assert torch.equal(left, right)
        assert left.abs().sum() > 0


def test_a_full_disk_costs_nothing_that_was_saved(command: list[str], tmp_path: Path, small: Weights):
    """There is room for the adapter and not for the checkpoint, seven times as large."""
    run = [*command, "--out", str(tmp_path)]
    assert adapter.main([*run, "--steps", "2"]) == 0
    saved = {name: (tmp_path / name).stat().st_size for name in (checkpoint.ADAPTER, checkpoint.CHECKPOINT)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sum(saved.values()) // 2, limits[1]))
    try:
        with pytest.raises(SystemExit, match=r"checkpoint\.pt cannot be written .* make room"):
            adapter.main([*run, "--steps", "4"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    path = tmp_path / checkpoint.ADAPTER
    handed = Adapter.load(path, "small.gguf", small.architecture, torch.float32)
    assert handed.metadata["steps"] == "4", "what was learned is there"
    assert not list(tmp_path.glob("*.partial")), "nothing half written takes what room there is"
    assert adapter.main([*run, "--steps", "4"]) == 0
    steps = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines() if "loss" in line]
    assert steps == [1, 2, 3, 4, 3, 4], "it went on from the checkpoint before"


def test_what_is_handed_over_is_the_mean_of_the_late_parameters(small: Weights, small_samples: Path):
    torch.manual_seed(0)
    recipe = Recipe(batch=2, accumulate=1, rows=32, widths="4", lr=1e-2, warm_up=1)
    trainer = CanvasTrainer(CanvasModel(small, Parameters(small, 4)), Samples(small_samples, "train"), recipe, 2048)
    expected, steps = torch.zeros(()), 12
    for step in range(1, steps + 1):
        trainer.advance(1e-2)
        share = min(1.0, (AVERAGE_LATENESS + 1) / (step + AVERAGE_LATENESS))  # all of the first step
        expected = torch.lerp(expected, trainer.model.parameters.mask_embedding.detach(), share)
    torch.testing.assert_close(trainer.late.mask_embedding.detach(), expected)
    latest = trainer.model.parameters
    with trainer.averaged():
        assert trainer.model.parameters is trainer.late
    assert trainer.model.parameters is latest
    assert not torch.allclose(trainer.late.mask_embedding, latest.mask_embedding)


def test_gradients_that_are_not_finite_change_nothing_and_end_the_run(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Weights
):
    adapter.main([*command, "--out", str(tmp_path / "before"), "--steps", "1"])
    monkeypatch.setattr(nn.utils, "clip_grad_norm_", lambda *_: torch.tensor(torch.nan))
    with pytest.raises(SystemExit, match="20 steps were not finite"):
        adapter.main([*command, "--out", str(tmp_path / "run"), "--steps", "30"])
    begun = json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[0])
    assert begun["step"] == 0
    assert not (tmp_path / "run" / checkpoint.ADAPTER).exists(), "nothing of it is handed over"


def test_a_layer_compiles_whole(small: Weights):
    """Without breaks in the graph, gradients too; a GPU's code is another matter (`bench.gpu.training`)."""
    torch.manual_seed(0)
    parameters = Parameters(small, 4)
    low = {
        name: (a.detach().requires_grad_(), b.detach().requires_grad_())
        for name, (a, b) in parameters.low(torch.float32)[0].items()
    }
    shape, rows = small.architecture, 6
    x = torch.randn(2, rows, shape.dim)
    cos, sin = (t.view(1, rows, 1, -1) for t in rope_table(torch.arange(rows), shape.head_dim, shape.theta))
    past = (torch.randn(2, shape.kv_heads, 3, shape.head_dim), torch.randn(2, shape.kv_heads, 3, shape.head_dim))
    compiled = torch.compile(layer_forward, backend="aot_eager", fullgraph=True)
    found: list[list[torch.Tensor]] = []
    for layer in (layer_forward, compiled):
        given = (shape, small.layers[0], low, x, past, torch.zeros(2, 1, rows, rows + 3), cos, sin)
        out = layer(*given)[0]
        found.append([out, *torch.autograd.grad(out.square().sum(), [t for pair in low.values() for t in pair])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_the_adapter_says_what_it_was_made_of(command: list[str], tmp_path: Path, small: Weights):
    out = tmp_path / "run"
    adapter.main([*command, "--out", str(out)])
    path = out / checkpoint.ADAPTER
    loaded = Adapter.load(path, "small.gguf", small.architecture, torch.float32)
    base = loaded.metadata
    assert (base["base"], base["base_sha256"], base["corpus"], base["steps"]) == ("small.gguf", "12ab", "abc", "6")
    assert json.loads(base["recipe"])["widths"] == "4,2"
    assert json.loads(base["scores"])["offline_tau"] >= 1
    further = [*command, "--from", str(path), "--rank", "8", "--out", str(tmp_path / "more")]
    adapter.main(further)
    more = Adapter.load(tmp_path / "more" / checkpoint.ADAPTER, "small.gguf", small.architecture, torch.float32)
    assert json.loads(more.metadata["recipe"])["rank"] == 4, "a started adapter keeps its rank"
    assert more.metadata["begun_from"] == base["version"]


def test_clear_refusals(command: list[str], tmp_path: Path, small: Weights):
    out = tmp_path / "run"
    adapter.main([*command, "--out", str(out), "--steps", "1"])
    with pytest.raises(SystemExit, match="begun with other settings"):
        adapter.main([*command, "--out", str(out), "--lr", "0.1"])
    for budget in ([], ["--steps", "-1"], ["--minutes", "-5"]):
        with pytest.raises(SystemExit, match="Give a budget"):
            adapter.main([*command[:-2], *budget, "--out", str(out)])
    with pytest.raises(SystemExit, match="Give --base-sha256"):
        adapter.main([a for a in command if a not in ("--base-sha256", "12ab")] + ["--out", str(tmp_path / "b")])
    checkpoint.export(tmp_path / "other.safetensors", Parameters(small, 2), {"base": "other.gguf"})
    with pytest.raises(SystemExit, match="No such file"):
        adapter.main([*command, "--out", str(tmp_path / "c"), "--from", str(tmp_path / "nowhere.safetensors")])
    with pytest.raises(SystemExit, match=r"belongs to other\.gguf"):
        adapter.main([*command, "--out", str(tmp_path / "c"), "--from", str(tmp_path / "other.safetensors")])


def test_what_is_too_large_to_be_shipped_is_refused_before_the_first_step(
    command: list[str], tmp_path: Path, small: Weights, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(SystemExit, match=r"Rank 30000 takes .* MB beside the 0 MB .* at most 95 MB"):
        adapter.main([*command, "--rank", "30000", "--out", str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()
    of_four = Parameters(small, 4)
    left = checkpoint.room(of_four, 0)
    assert checkpoint.room(of_four, left) == 0, "an update beside it takes of its room"
    with pytest.raises(EngineError, match="at most 95 MB"):
        checkpoint.room(of_four, left + 1)
