"""How well drafts agree with the base on held-out samples, without decoding: cheap enough to compute while training."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_engine.train.canvases import draw_canvases
from dlsp_engine.train.loss import drafts
from dlsp_engine.train.model import CanvasModel
from dlsp_engine.train.segments import MIDDLE
from dlsp_engine.train.store import Samples
from dlsp_engine.train.trainer import canvas_states, clean_pass, read


@dataclass(frozen=True)
class Score:
    """`tau` is how many tokens one draft and its verification are expected to commit at a random place of a gap: 1 plus
    the expected number of tokens until the first wrong one. `plain_tau` is the same if each row drafts its likeliest
    token. `agreement` is the share of right drafts by position, among those whose right token is known.
    """

    tau: float
    plain_tau: float
    agreement: list[float]
    canvases: int


@torch.no_grad()
def score(model: CanvasModel, samples: Samples, rows: int, count: int, width: int, batch: int, head_rows: int) -> Score:
    """Score `count` canvases in gaps of each of the first `rows` held-out samples."""
    generator = torch.Generator(model.device).manual_seed(0)
    found, plain = Runs(width), Runs(width)
    for start in range(0, rows, batch):
        now = read(samples, start, min(batch, rows - start), model.device)
        base, past = clean_pass(model, now, head_rows)
        canvases = draw_canvases(now, base.greedy, count, width, generator, marks=MIDDLE, evenly=True)
        has_target = canvases.taught.flatten(0, 1)
        has_any = has_target.any(1)  # canvases with any has_target target; the others say nothing
        states = canvas_states(model, now, canvases, past).flatten(0, 1)[has_any]
        given = canvases.before(now).flatten(0, 1)[has_any, 1:]
        texts = [text for text, one in zip(canvases.contexts(now), has_any.tolist(), strict=True) if one]
        has_target, targets = has_target[has_any], canvases.targets.flatten(0, 1)[has_any]
        likeliest, guesses = drafts(states, texts, given, model.weights.head, model.parameters.bigrams, head_rows)
        chosen = torch.tensor([one.tokens for one in guesses], device=model.device).view_as(likeliest)
        for runs, drafted in ((found, chosen), (plain, likeliest)):
            runs.saw((drafted == targets) & has_target, has_target)
    return Score(found.tau, plain.tau, [round(share, 4) for share in found.agreement], int(found.seen[0]))


class Runs:
    """Estimates how many drafted tokens in a row agree with the base. Where the base's choices are no longer known, a
    run is censored (Kaplan-Meier estimator).
    """

    def __init__(self, width: int) -> None:
        self.seen, self._right, self._alive, self._survived = (torch.zeros(width) for _ in range(4))

    def saw(self, hits: Tensor, has_target: Tensor) -> None:
        """Add canvases: which of their drafts are right, and for which that is known, both [n, width]."""
        runs = hits.int().cumprod(1).bool()
        before = torch.cat([torch.ones_like(runs[:, :1]), runs[:, :-1]], 1)
        self.seen += has_target.sum(0).cpu()
        self._right += hits.sum(0).cpu()
        self._alive += (before & has_target).sum(0).cpu()
        self._survived += runs.sum(0).cpu()

    @property
    def tau(self) -> float:
        return 1 + float((self._survived / self._alive.clamp(min=1)).cumprod(0).sum())

    @property
    def agreement(self) -> list[float]:
        return (self._right / self.seen.clamp(min=1)).tolist()
