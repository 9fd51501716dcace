"""How well drafts agree with the base on held-out samples, without decoding: cheap enough to ask while training."""

from dataclasses import dataclass

import torch

from dlsp_engine.train.canvases import drawn
from dlsp_engine.train.loss import choices
from dlsp_engine.train.model import CanvasModel
from dlsp_engine.train.segments import MIDDLE
from dlsp_engine.train.store import Samples
from dlsp_engine.train.trainer import canvas_states, look, read


@dataclass(frozen=True)
class Score:
    """`tau`: tokens that one draft and its check commit, 1 plus the expected run of agreeing drafts, at a random
    place of a gap. `agreement`: share of right drafts by position, where what is right is known.
    """

    tau: float
    agreement: list[float]
    canvases: int


@torch.no_grad()
def score(model: CanvasModel, samples: Samples, rows: int, count: int, width: int, batch: int, head_rows: int) -> Score:
    """`count` canvases in gaps of each of the first `rows` held-out samples."""
    generator = torch.Generator(model.device).manual_seed(0)
    seen, right, alive, survived = (torch.zeros(width, device=model.device) for _ in range(4))
    canvases_in_all = 0
    for start in range(0, rows, batch):
        now = read(samples, start, min(batch, rows - start), model.device)
        said, past = look(model, now, head_rows)
        canvases = drawn(now, said.greedy, count, width, generator, marks=MIDDLE, evenly=True)
        hidden = canvas_states(model, now, canvases, past)
        drafts = choices(hidden.flatten(0, 1), model.weights.embedding, head_rows).greedy
        known = canvases.taught.flatten(0, 1)
        hits = (drafts == canvases.targets.flatten(0, 1)) & known
        runs = hits.int().cumprod(1).bool()
        before = torch.cat([torch.ones_like(runs[:, :1]), runs[:, :-1]], 1)
        seen += known.sum(0)
        right += hits.sum(0)
        # Where the base's own path is lost from sight a run is only known so far (Kaplan and Meier).
        alive += (before & known).sum(0)
        survived += runs.sum(0)
        canvases_in_all += int(known[:, 0].sum())
    tau = 1 + float((survived / alive.clamp(min=1)).cumprod(0).sum())
    return Score(tau, [round(share, 4) for share in (right / seen.clamp(min=1)).tolist()], canvases_in_all)
