"""The end of a verify step: accepts the part of each draft that the model confirms, commits it, and makes the next
draft.
"""

import torch
from torch import Tensor

from dlsp_kernels.lay.reference import GapStates, rows_per_gap


def commit(state: GapStates, token: Tensor, probability: Tensor, merged: bool) -> Tensor:
    """Verify every gap's draft. Advances `state` in place, and returns int32 [gaps, 3 + 4 * width]; w is `width`:

    | columns         | content                                                |
    | --------------- | ------------------------------------------------------ |
    | 0               | n, the number of committed tokens; 0 for an unused gap |
    | 1 … 1 + w       | the committed tokens: the first n of these columns     |
    | 2 + w … 2 + 2w  | their probabilities, as the bits of a float32          |
    | 3 + 2w … 2 + 3w | the next draft's tokens; -1 if there is none           |
    | 3 + 3w … 2 + 4w | their probabilities, as the bits of a float32          |

    token int32, probability float32 [gaps * rows per gap, top]: the likeliest tokens of each row that `lay` wrote. Only
    the first one is used here. For `merged` see `rows_per_gap`.
    """
    width, size = state.width, rows_per_gap(state.width, merged)
    result = torch.zeros(len(state.last), 3 + 4 * width, dtype=torch.int32)
    for gap, drafted in enumerate(state.drafted.tolist()):
        rows = slice(gap * size, (gap + 1) * size)
        chosen, bits = token[rows, 0].cpu(), probability[rows, 0].cpu().view(torch.int32)
        _, tokens, chances, next_draft, next_chances = result[gap].split([1, 1 + width, 1 + width, width, width])
        next_draft.fill_(-1)
        if drafted < 0:
            continue
        draft = state.draft[gap].tolist()
        run = 0
        while run < drafted and draft[run] == int(chosen[run]):
            run += 1
        result[gap, 0] = run + 1
        tokens[: run + 1], chances[: run + 1] = chosen[: run + 1], bits[: run + 1]
        state.last[gap] = chosen[run]
        state.length[gap] += run + 1
        if canvas := merged or drafted == 0:
            start = 1 + width + run * width if merged else 1
            next_draft.copy_(chosen[start : start + width])
            next_chances.copy_(bits[start : start + width])
            state.draft[gap] = next_draft.to(state.draft.device)
        state.drafted[gap] = width if canvas else 0
    return result.to(token.device)
