"""The fitted numbers: `python -m bench.edits.fit` writes them from the training edits."""

import json
from dataclasses import dataclass
from pathlib import Path

from dlsp.edits.rank.evidence import GROUPS, NAMES

FILE = Path(__file__).parent / "weights.json"


@dataclass(frozen=True)
class Weights:
    """`match` has, for each group of rules, a weight for each of `evidence.NAMES`; `judge` one for each of
    `judge.NUMBERS`.

    Log odds above `asked_from` are worth asking the model; those above `learned_from` are shown where there is none,
    above `sure_from` without asking it, and above `judged_from` after it was asked.
    """

    match: dict[str, tuple[float, ...]]
    judge: tuple[float, ...]
    asked_from: float
    learned_from: float
    sure_from: float
    judged_from: float

    @classmethod
    def read(cls, file: Path = FILE) -> "Weights":
        stored = json.loads(file.read_text(encoding="utf-8"))
        match = {group: tuple(stored["match"][group][name] for name in NAMES) for group in GROUPS}
        limits = ("asked_from", "learned_from", "sure_from", "judged_from")
        return cls(match, tuple(stored["judge"].values()), *(stored[name] for name in limits))


WEIGHTS = Weights.read()
