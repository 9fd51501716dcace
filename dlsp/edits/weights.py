"""The fitted numbers: `python -m bench.edits.fit` writes them from the training edits."""

import json
from dataclasses import dataclass
from pathlib import Path

from dlsp.edits.evidence import GROUPS, NAMES

FILE = Path(__file__).parent / "weights.json"


@dataclass(frozen=True)
class Weights:
    """`match` has, for each group of rules, a weight for each of `evidence.NAMES`.

    Sites whose log odds are above `learned_from` are shown without a model.
    """

    match: dict[str, tuple[float, ...]]
    learned_from: float

    @classmethod
    def read(cls, file: Path = FILE) -> "Weights":
        stored = json.loads(file.read_text(encoding="utf-8"))
        match = {group: tuple(stored["match"][group][name] for name in NAMES) for group in GROUPS}
        return cls(match, stored["learned_from"])


WEIGHTS = Weights.read()
