"""Chooses tokens from rows of logits: the argmax, or samples that depend on seed and position alone."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from dlsp_engine.decode.scores import greedy

TILE = 128  # tokens with neighbouring ids that a sample is drawn from at once
MIN_TEMPERATURE = 1e-6  # below it a sample is the argmax in float32 anyway
SORTED_FIRST = (256, 8192)  # how many of a row's likeliest tokens are sorted before all are
# A smaller exponent has a denormal power, which takes a CPU ten times as long, and no noise can make up for this one.
LEAST_EXPONENT = -80.0
NOT_BEST = 1e4  # what a token's noise is lowered by that another one of its tile beats whatever the tile's noise


@dataclass(frozen=True)
class Sampler:
    """Chooses the tokens of one answer. At temperature 0 it takes the argmax, and the other numbers mean nothing.

    Above it, softmax(logits / temperature) is cut: first to the `top_k` likeliest tokens (0: all), then to the fewest
    likeliest of these that have together at least `top_p` of their probability, then to those at least `min_p` times as
    likely as the likeliest. A token is drawn from the rest.

    The draw is a Gumbel-max sample in two levels: noise for each tile of TILE ids picks the tile by its whole
    probability, noise for each place in a tile picks the token. That is exact, takes one `exp` a logit, and draws a
    hundredth of the noise that one for each token would take. The noise depends on the seed and on the token's position
    in the answer alone, so that every decoding mode draws the same tokens. Accepting a draft if it equals this sample
    is the usual rejection rule for a one-hot proposal. Logits that differ by rounding nearly always give the same
    sample.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    def choose(self, logits: Tensor, start: int) -> list[int]:
        """Return the token that each row of logits [rows, vocab] gives. The rows are those of the answer's tokens
        number `start`, `start` + 1, and so on.
        """
        if self.greedy:
            return greedy(logits)
        # One row fits into a CPU's cache; a device takes all rows at once.
        parts = logits.split(1) if logits.is_cpu else [logits]
        chosen = [self._sampled(part, start + row) for row, part in enumerate(parts)]
        return torch.cat(chosen).tolist()

    def _sampled(self, logits: Tensor, start: int) -> Tensor:
        """As `choose`, above temperature 0: int64 [rows]."""
        scaled = (logits - logits.amax(-1, keepdim=True)).div_(max(self.temperature, MIN_TEMPERATURE))
        if self.top_k or self.top_p < 1 or self.min_p:
            for row in scaled:
                self._cut(row)
        if missing := -scaled.shape[1] % TILE:
            scaled = pad(scaled, (0, missing), value=-torch.inf)
        tiles = scaled.unflatten(1, (-1, TILE))
        noise = [_noise(self.seed, start + row, tiles.shape[1]) for row in range(len(tiles))]
        of_tile, of_place = (torch.from_numpy(np.stack(level)).to(logits.device) for level in zip(*noise, strict=True))
        tile = (_powers(tiles).sum(-1).log_() + of_tile).argmax(-1)
        place = (tiles[torch.arange(len(tiles), device=tile.device), tile] + of_place).argmax(-1)
        return tile * TILE + place

    def draft_noise(self, candidates: np.ndarray, start: int, vocab: int) -> np.ndarray | None:
        """Return what the draws of the answer's tokens from number `start` on add to the logits of `candidates` [rows,
        n], each row's the likeliest first. A draft that adds it too often agrees with the draw. None at temperature 0.

        It is exact where one candidate has nearly all of its tile's probability, as the first of a tile nearly always
        has.
        """
        if self.greedy:
            return None
        noise = np.empty(candidates.shape)
        for row, tokens in enumerate(candidates):
            of_tile, _ = _noise(self.seed, start + row, -(-vocab // TILE))
            tiles = tokens // TILE
            first = np.zeros(len(tokens), bool)
            first[np.unique(tiles, return_index=True)[1]] = True
            noise[row] = of_tile[tiles] - np.where(first, 0.0, NOT_BEST)
        return self.temperature * noise

    def _cut(self, scaled: Tensor) -> None:
        """Set to -inf what `top_k`, `top_p` and `min_p` leave out of one row of scaled logits [vocab], whose largest is
        0.
        """
        count = len(scaled)
        sorted_ids = self._sorted(scaled)
        values = scaled[sorted_ids]
        keep = count if not self.top_k else min(self.top_k, count)
        probability = values[:keep].exp()
        if self.top_p < 1:
            whole = probability.sum() if self.top_k else _powers(scaled).sum()
            reached = probability.cumsum(0) - probability  # of those before each
            keep = min(keep, max(1, int((reached < self.top_p * whole).sum())))
        if self.min_p:
            keep = min(keep, int((values[:keep].exp() >= self.min_p).sum()))
        kept = values[:keep].clone()
        scaled.fill_(-torch.inf)
        scaled[sorted_ids[:keep]] = kept

    def _sorted(self, scaled: Tensor) -> Tensor:
        """Return ids of a row's likeliest tokens, the likeliest first: all that `_cut` can keep."""
        for some in SORTED_FIRST:
            if some >= len(scaled):
                break
            values, ids = scaled.topk(some)
            probability = values.exp()
            if (
                (self.top_k and self.top_k <= some)
                or (self.top_p < 1 and probability.sum() >= self.top_p * _powers(scaled).sum())
                or (self.min_p and probability[-1] < self.min_p)
            ):
                return ids
        return scaled.argsort(descending=True)


def _powers(exponents: Tensor) -> Tensor:
    return exponents.clamp(min=LEAST_EXPONENT).exp()


@lru_cache(64)  # a draft and the step that verifies it draw the same noise
def _noise(seed: int, position: int, tiles: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 Gumbel noise for the answer's token number `position`: [tiles] and [TILE]."""
    generator = np.random.Generator(np.random.Philox(key=(seed << 64) + position))
    gumbel = -np.log(generator.standard_exponential(TILE + tiles)).astype(np.float32)
    return gumbel[TILE:], gumbel[:TILE]
