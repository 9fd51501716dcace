"""After a verified step: how much of each draft stands, what is committed, and the next draft."""

import torch
from torch import Tensor

from dlsp_kernels.lay.reference import GapStates, rows_per_gap


def commit(state: GapStates, token: Tensor, probability: Tensor, merged: bool) -> Tensor:
    """token int32, probability float32 [gaps * rows a gap, top]: the likeliest tokens of each row that `lay` laid, of
    which the first counts.

    Moves the state on and returns int32 [gaps, 3 + 4 * width]: how many tokens were committed (0 for a gap that is
    none), 1 + width places for them, as many for their probabilities' bits, the next draft's tokens (-1: none), and
    their probabilities' bits.
    """
    width, size = state.width, rows_per_gap(state.width, merged)
    told = torch.zeros(len(state.last), 3 + 4 * width, dtype=torch.int32)
    for gap, drafted in enumerate(state.drafted.tolist()):
        rows = slice(gap * size, (gap + 1) * size)
        chosen, bits = token[rows, 0].cpu(), probability[rows, 0].cpu().view(torch.int32)
        _, tokens, sure, guess, guess_sure = told[gap].split([1, 1 + width, 1 + width, width, width])
        guess.fill_(-1)
        if drafted < 0:
            continue
        draft = state.draft[gap].tolist()
        run = 0
        while run < drafted and draft[run] == int(chosen[run]):
            run += 1
        told[gap, 0] = run + 1
        tokens[: run + 1], sure[: run + 1] = chosen[: run + 1], bits[: run + 1]
        state.last[gap] = chosen[run]
        state.length[gap] += run + 1
        if canvas := merged or drafted == 0:
            start = 1 + width + run * width if merged else 1
            guess.copy_(chosen[start : start + width])
            guess_sure.copy_(bits[start : start + width])
            state.draft[gap] = guess.to(state.draft.device)
        state.drafted[gap] = width if canvas else 0
    return told.to(token.device)
