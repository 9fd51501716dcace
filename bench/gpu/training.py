"""`python -m bench.gpu.training`: whether training is right on this machine, and how fast, before the base is there.

Random weights in the base's shape, and text of repeated tokens that such a model agrees with, so that canvases are
taught as real ones are; or gaps, for an update. The last line is the number of canvas rows, or of tokens, a second; 0
where gradients are wrong.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from bench.gpu.shapes import SHAPES, blank, filled
from dlsp_engine.model.weights import Weights
from dlsp_engine.train.fill_trainer import FillTrainer
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.model import CanvasModel, LowRanks, Parameters
from dlsp_engine.train.packed import GROUPED, PLAIN, Way
from dlsp_engine.train.recipe import FillRecipe, Recipe
from dlsp_engine.train.run import HEAD_ROWS
from dlsp_engine.train.segments import MIDDLE, START
from dlsp_engine.train.store import Samples
from dlsp_engine.train.trainer import CanvasTrainer, Step

# Tokens in a row that are the same: some two thirds of the canvas rows are taught then, as in real text.
REPEATED = 12

# Cosine of the gradients in bf16 and in float32 above which training is right.
RIGHT = 0.98


class Repeats(Samples):
    """Samples in memory."""

    def __init__(self, vocab: int, length: int = 512, rows: int = 64) -> None:
        self.rows = rows
        drawn = np.random.default_rng(0).integers(0, vocab, (rows, -(-length // REPEATED)))
        self._tokens = drawn.repeat(REPEATED, 1)[:, :length].astype(np.int64)
        self._marks = np.full((rows, length), MIDDLE, np.uint8)
        self._marks[:, 0] |= START

    def take(self, start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.arange(start, start + count) % self.rows
        return self._tokens[numbers], self._marks[numbers]


def weights(shape: str, device: str) -> Weights:
    """Random, in bf16, and so that the model would repeat the last token: layers add little to the embedding."""
    made = filled(blank(SHAPES[shape], torch.bfloat16, device))
    made.embedding.mul_(0.2)
    for layer in made.layers:
        layer.out.mul_(0.002)
        layer.down.mul_(0.002)
    return made


class RandomGaps:
    """Gaps of many lengths, as many as have `tokens` tokens."""

    def __init__(self, vocab: int, tokens: int) -> None:
        self._vocab, self._tokens = vocab, tokens

    def batch(self, turn: int) -> list[Fill]:
        rng, left, made = np.random.default_rng(turn), self._tokens, list[Fill]()
        while left > 1:
            size = min(left, int(rng.integers(40, 800)))
            tokens = rng.integers(0, self._vocab, size).tolist()
            answer = max(1, size // 10)
            made.append(Fill(tokens[:-answer], tokens[-answer:], "line", "python"))
            left -= size
        return made


def trainer(
    base: Weights, recipe: Recipe | FillRecipe, compiled: bool = False, way: Way = GROUPED
) -> CanvasTrainer | FillTrainer:
    """`way` is how an update's forward pass is taken where it is not compiled."""
    torch.manual_seed(0)
    vocab, device, canvases = base.architecture.vocab, base.embedding.device, isinstance(recipe, Recipe)
    parameters = Parameters(base, recipe.rank) if canvases else LowRanks(base.architecture, recipe.rank)
    for name, value in parameters.named_parameters():
        if name.endswith(".b"):
            torch.nn.init.normal_(value, std=0.01)  # else nothing but b has a gradient
    head_rows, parameters = HEAD_ROWS[device.type], parameters.to(device)
    if isinstance(parameters, Parameters) and isinstance(recipe, Recipe):
        return CanvasTrainer(CanvasModel(base, parameters, compiled=compiled), Repeats(vocab), recipe, head_rows)
    assert isinstance(recipe, FillRecipe)
    gaps = RandomGaps(vocab, recipe.tokens)
    return FillTrainer(base, parameters, gaps, recipe, device, head_rows, way.compiled() if compiled else way)


def gradient(base: Weights, recipe: Recipe | FillRecipe, way: Way = GROUPED) -> Tensor:
    one = trainer(base, recipe, way=way)
    one.advance(0.0)
    return torch.cat([p.grad.flatten() for p in one.parameters.parameters() if p.grad is not None])


def right(base: Weights, recipe: Recipe | FillRecipe) -> float:
    """The cosine of a small batch's gradients in bf16, as they are trained with, and in float32 without fused ops,
    gaps one by one.
    """
    found = gradient(base, recipe)
    with sdpa_kernel(SDPBackend.MATH):
        wanted = gradient(base.to(torch.float32), recipe, PLAIN)
    return float(torch.cosine_similarity(found, wanted, dim=0))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.gpu.training", description=__doc__)
    parser.add_argument("--shape", default="0.5b", choices=SHAPES)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fills", default="", metavar="RECIPE", help="an infill update by this recipe, not an adapter")
    parser.add_argument("--steps", type=int, default=24)
    Recipe.add_to(parser)
    asked = parser.parse_args(arguments)
    if asked.fills:
        recipe = replace(FillRecipe.read(asked.fills), accumulate=1, rank=asked.rank)
        few = replace(recipe, tokens=2048)
    else:
        recipe = Recipe.of(asked)
        few = replace(recipe, batch=2, accumulate=1)
    base = weights(asked.shape, asked.device)
    cosine = right(base, few)
    print(f"gradients in bf16 and float32: cosine {cosine:.4f}{'' if cosine > RIGHT else ', WRONG'}", flush=True)
    one = trainer(base, recipe, asked.compile)
    steps: list[Step] = []
    seconds: list[float] = []
    for _ in range(asked.steps):
        began = time.perf_counter()
        steps.append(one.advance(recipe.lr))  # gives numbers, so that the device is done
        seconds.append(time.perf_counter() - began)
    step = steps[-1]
    memory = torch.cuda.max_memory_allocated() / 1e9 if asked.device == "cuda" else 0.0
    usual = statistics.median(seconds[len(seconds) // 2 :])
    print(
        f"{'compiled' if asked.compile else 'plain'}: first step {seconds[0]:.1f} s, then {usual * 1e3:.0f} ms, "
        f"{step.rows} rows, {step.taught} taught, loss {step.loss:.2f}, norm {step.norm:.2f}, {memory:.1f} GB at most"
    )
    print(round(step.rows / usual) if cosine > RIGHT else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
