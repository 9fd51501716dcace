"""Offline tau: how many steps verified decoding of a known answer takes, computed from one teacher-forced forward pass
of its canvases.
"""

import torch

from dlsp_engine.decode.budget import fixed_plan
from dlsp_engine.decode.draft import NO_DRAFT, Draft
from dlsp_engine.decode.session import common
from dlsp_engine.train.canvases import Batch, Canvases
from dlsp_engine.train.loss import drafts as drafted
from dlsp_engine.train.model import CanvasModel
from dlsp_engine.train.trainer import canvas_states, clean_pass

CANVASES_PER_FORWARD = 64


@torch.no_grad()
def drafts(model: CanvasModel, prompt: list[int], answer: list[int], width: int) -> tuple[list[Draft], int]:
    """Return what a canvas drafts after the last token of the prompt and after each token of the answer but
    the last; and the token that the base chooses after the answer.
    """
    ids = torch.tensor([prompt + answer], device=model.device)
    batch = Batch(ids, torch.zeros_like(ids))
    base, past = clean_pass(model, batch, head_rows=CANVASES_PER_FORWARD)
    found: list[Draft] = []
    for at in range(0, len(answer), CANVASES_PER_FORWARD):
        end = min(at + CANVASES_PER_FORWARD, len(answer))
        anchors = torch.arange(at, end, device=model.device)[None] + len(prompt) - 1
        positions = anchors[..., None] + 1 + torch.arange(width, device=model.device)
        blank = torch.full_like(positions, -1)
        canvases = Canvases(anchors, blank, positions, blank, blank, blank)
        hidden = canvas_states(model, batch, canvases, past)[0]
        # There are no tokens after the answer, and drafts beyond it are not used.
        canvases.answered = positions.clamp(max=ids.shape[1] - 1)
        texts, given = canvases.contexts(batch), canvases.before(batch)[0, :, 1:]
        pairs = model.parameters.bigrams
        found += drafted(hidden, texts, given, model.weights.head, pairs, CANVASES_PER_FORWARD * width)[1]
    return found, int(base.greedy[0, -1])


def forwards(drafted: list[Draft], answer: list[int], width: int, merged: bool, alternatives: bool) -> int:
    """Return the number of steps until the whole answer is committed. Each step commits the accepted tokens and one
    token of the base's own; see `decode.verify`.
    """
    steps, done, draft = 0, 0, NO_DRAFT
    while done < len(answer):
        steps += 1
        plan = fixed_plan(draft.nodes(alternatives), width, merged)
        run = common(draft.tokens[: plan.verify], answer[done:])
        run += done + run < len(answer) and plan.alternative(run, answer[done + run]) is not None
        anchor = done + run  # the canvas follows the last token that was verified or committed before
        done += run + 1
        draft = drafted[anchor] if plan.canvas_after and anchor < len(drafted) else NO_DRAFT
    return steps
