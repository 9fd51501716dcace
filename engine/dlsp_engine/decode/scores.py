"""What the rows of a step say of the next token: their logits, and what decoding asks of these most often."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

CANDIDATES = 64  # likeliest tokens of a canvas row that are considered
TILE = 128  # logits of a tile; see `top`


@dataclass(frozen=True)
class Summary:
    """Of some rows, what a device has found in one go: each of these would else be a wait for it."""

    best: np.ndarray  # int64 [rows]: the likeliest token
    best_log_p: np.ndarray  # float32 [rows]: its log-probability
    # The likeliest CANDIDATES; none if the step has no canvas rows.
    top_log_p: np.ndarray  # float32 [rows, CANDIDATES]
    top: np.ndarray  # int64 [rows, CANDIDATES]

    @classmethod
    def of(cls, columns: Tensor) -> "Summary":
        """What the `summary_columns` of some rows say, brought from the device by one transfer."""
        found = columns.cpu().numpy()
        ids = (2 + found.shape[1]) // 2
        return cls(found[:, 0].astype(np.int64), found[:, 1], found[:, 2:ids], found[:, ids:].astype(np.int64))

    def __getitem__(self, rows: slice | Sequence[int]) -> "Summary":
        return Summary(self.best[rows], self.best_log_p[rows], self.top_log_p[rows], self.top[rows])


class Scores:
    """Logits float32 [rows, vocab], on any device, and what is asked of them. `summary` is of the same rows; without
    it all is computed from the logits when it is asked for.
    """

    def __init__(self, logits: Tensor, summary: Summary | None = None, rows: list[int] | None = None) -> None:
        """`rows`: those of the logits that are meant, by default all. They are taken when they are needed."""
        self._logits, self._rows = logits, rows
        self.summary = summary

    @property
    def logits(self) -> Tensor:
        return self._logits if self._rows is None else self._logits[self._rows]

    def __len__(self) -> int:
        return len(self._logits if self._rows is None else self._rows)

    def __getitem__(self, rows: slice | list[int]) -> "Scores":
        part = self.summary and self.summary[rows]
        return Scores(self.logits[rows], part) if isinstance(rows, slice) else Scores(self.logits, part, rows)

    def best(self) -> list[int]:
        """Return the likeliest token of each row."""
        return self.summary.best.tolist() if self.summary else greedy(self.logits)

    def log_p(self, tokens: list[int]) -> list[float]:
        """Return the log-probability of one token for each row, at temperature 1."""
        if self.summary and self.summary.best.tolist() == tokens:
            return self.summary.best_log_p.tolist()
        return self.logits.log_softmax(-1)[torch.arange(len(tokens)), tokens].tolist()

    def likeliest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-probabilities and ids [rows, CANDIDATES] of each row's likeliest tokens, the likeliest first.
        A `summary` must be that of a step with canvas rows.
        """
        if self.summary:
            return self.summary.top_log_p, self.summary.top
        log_p, tokens = top(self.logits.log_softmax(-1), min(CANDIDATES, self.logits.shape[1]))
        return log_p.cpu().numpy(), tokens.cpu().numpy()


def greedy(logits: Tensor) -> list[int]:
    """Return the argmax of each row of logits [rows, vocab]. On a CPU NumPy's argmax takes a tenth of the time of
    PyTorch's.
    """
    return (logits.numpy() if logits.is_cpu else logits).argmax(-1).tolist()


def summary_columns(logits: Tensor, canvas: bool) -> Tensor:
    """What a `Summary` of logits [rows, vocab] needs, on their device: float32 [rows, columns]. `canvas`: whether there
    are canvas rows. Ids are exact in float32, since no vocabulary has 2^24 tokens.
    """
    log_p = logits.log_softmax(-1)
    best = logits.argmax(-1, keepdim=True)
    found = [best, log_p.gather(1, best)]
    if canvas:
        found += top(log_p, min(CANDIDATES, logits.shape[1]))
    return torch.cat([part.float() for part in found], 1)


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return `values.topk(count)` of values [rows, n], in a third of its time if n is large: only the tiles with the
    largest maxima are searched, which must hold all results.
    """
    rows, n = values.shape
    if n % TILE or n // TILE < count:
        best, at = values.topk(count)
        return best, at
    tiles = values.view(rows, -1, TILE)
    taken = tiles.amax(-1).topk(count).indices
    best, at = tiles.gather(1, taken[:, :, None].expand(-1, -1, TILE)).flatten(1).topk(count)
    return best, taken.gather(1, at // TILE) * TILE + at % TILE
