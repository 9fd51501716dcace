"""When keys come: bursts at a typist's own speed, pauses where people think.

- Between typists the time from key to key is 239 ms on average, standard deviation 112 ms (Dhakal et al., Observations
  on typing from 136 million keystrokes, CHI 2018); the fastest and the slowest groups there are at 121 and 481 ms.
- Within a typist it is log-normal (Gonzalez et al., On the shape of timings distributions in free-text keystroke
  dynamics profiles, Heliyon 2021).
- Programmers also pause, 2 s and more, before they write (Shrestha et al., Pausing while programming, ICSE-SEET 2022).

How wide the log-normal is and how often people pause is nowhere given for programmers at work: these are our choices.
"""

import math
import random

MEAN_S, DEVIATION_S = 0.239, 0.112
FASTEST_S, SLOWEST_S = 0.121, 0.481
# Of the logarithm of a typist's times.
WIDTH = 0.5
# Before a line's first key and a word's: how often, and the median in seconds.
PAUSES = {"line": (0.3, 1.5), "word": (0.04, 0.8)}
REST_S = 2.0
PAUSE_WIDTH = 0.8


class Pace:
    """One typist, drawn by `seed`. `rest_s` is the median time from arriving at a place to the first key there."""

    def __init__(self, seed: str, rest_s: float = REST_S) -> None:
        self._rng, self._rest_s = random.Random(seed), rest_s
        width = math.sqrt(math.log(1 + (DEVIATION_S / MEAN_S) ** 2))
        drawn = self._lognormal(MEAN_S * math.exp(-(width**2) / 2), width)
        self.mean_s = min(max(drawn, FASTEST_S), SLOWEST_S)

    def times(self, keys: list[str]) -> list[float]:
        """Seconds before each key of a text that is typed without help."""
        return [self._before(earlier, key) for earlier, key in zip(["", *keys], keys, strict=False)]

    def rest(self) -> float:
        """Seconds before the first key at a new place."""
        return self._lognormal(self._rest_s, PAUSE_WIDTH)

    def key(self) -> float:
        """Seconds before one key within a burst."""
        return self._lognormal(self.mean_s * math.exp(-(WIDTH**2) / 2), WIDTH)

    def _before(self, earlier: str, key: str) -> float:
        where = "line" if earlier.startswith("\n") else "word" if key.isalnum() and not earlier.isalnum() else ""
        share, median = PAUSES.get(where, (0, 0))
        pause = self._lognormal(median, PAUSE_WIDTH) if self._rng.random() < share else 0
        return self.key() + pause

    def _lognormal(self, median: float, width: float) -> float:
        return self._rng.lognormvariate(math.log(median), width)
