"""The fitted weights, written by `python -m bench.edits.fit` from the training edits."""

import json
from dataclasses import dataclass
from pathlib import Path

from dlsp.edits.rank.evidence import GROUPS, NAMES

FILE = Path(__file__).parent / "weights.json"


@dataclass(frozen=True)
class Weights:
    """Weights and thresholds: `match` has a weight for each of `evidence.NAMES`, by group; `judge` one for each of
    `proposals.NUMBERS`, `written` one for each of `written.NUMBERS`.

    A site with log odds above `asked_from` is judged by the model. It is shown above `learned_from` if there is no
    model, above `sure_from` without asking the model, and above `judged_from` after the model has judged it. What the
    model wrote is shown above `written_from`; None as long as no model that ships was trained to write edits.
    """

    match: dict[str, tuple[float, ...]]
    judge: tuple[float, ...]
    written: tuple[float, ...]
    asked_from: float
    learned_from: float
    sure_from: float
    judged_from: float
    written_from: float | None

    @classmethod
    def read(cls, file: Path = FILE) -> "Weights":
        """Read the weights and thresholds from a JSON file."""
        stored = json.loads(file.read_text(encoding="utf-8"))
        match = {group: tuple(stored["match"][group][name] for name in NAMES) for group in GROUPS}
        limits = ("asked_from", "learned_from", "sure_from", "judged_from", "written_from")
        judge, written = (tuple(stored[name].values()) for name in ("judge", "written"))
        return cls(match, judge, written, *(stored[name] for name in limits))


WEIGHTS = Weights.read()
