"""What the benchmark consists of, and what of it runs at which size.

Minutes on two cores with nothing else running, the model converted before: those of one run of `all`, but the peers and
the replay were timed by themselves.

| part | default | quick |
|---|---:|---:|
| decode | 0.7 | 0.2 |
| watch | 0.5 | 0.2 |
| start | 0.3 | 0.1 |
| peers, 0.5B | 6.0 | 0.3 |
| peers, 1.5B | 1.9 | |
| growth | 5.7 | |
| quality, single-line | 1.3 | 0.1 |
| quality, random-span-light | 0.4 | |
| quality, safim | 0.6 | |
| replay | 2.8 | 0.3 |
| edits | 0.3 | 0.1 |
| report | 0.1 | 0.1 |
| all | 20.6 | 1.3 |

The first run of all takes longer: a model is converted once (a minute), steps are timed once, and so are llama.cpp's
tokens for `replay` (a minute).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

QUALITY_VARIANTS = (
    "autoregressive",
    "verified",
    *(f"diffusion:{number}" for number in (0.95, 0.8, 0.5)),
    *(f"diffusion:{number}:known" for number in (0.95, 0.8, 0.5)),
)


@dataclass(frozen=True)
class Run:
    """One `python -m MODULE ARGUMENTS` at the default size, and at the quick one; None where it is left out there."""

    module: str
    default: Sequence[str]
    quick: Sequence[str] | None = None

    def command(self, arguments: Sequence[str]) -> str:
        return " ".join(["python -m", self.module, *arguments])

    @property
    def there(self) -> bool:
        return find_spec(self.module) is not None


def _quality(name: str, limit: int, quick: int | None = None, variants: Sequence[str] = QUALITY_VARIANTS) -> Run:
    def arguments(number: int) -> list[str]:
        return ["--set", name, "--dtype", "int8", "--limit", str(number), "--variants", *variants]

    return Run("bench.quality", arguments(limit), arguments(quick) if quick else None)


UNKNOWN = [name for name in QUALITY_VARIANTS if not name.endswith("known")]

# In the order in which `all` runs them; `report` comes last.
PARTS: dict[str, Sequence[Run]] = {
    "steps": (
        Run("bench.decode", ["--gaps", "24", "--dtype", "int8"], ["--gaps", "2", "--dtype", "int8"]),
        Run("bench.watch", [], ["--gaps", "1", "--rounds", "1"]),
    ),
    "latency": (
        Run("bench.start", ["--runs", "5"], ["--runs", "1"]),
        Run("bench.peers", ["--gaps", "12"], ["--gaps", "1", "--measures", "line"]),
        Run("bench.peers", ["--gaps", "2", "--model", "1.5b", "--measures", "decode,line,typed"]),
        Run("bench.growth", ["--once"]),
    ),
    "quality": (
        _quality("single-line", 60, 4),
        _quality("random-span-light", 15, variants=UNKNOWN),
        _quality("safim", 10, variants=UNKNOWN),
    ),
    "replay": (Run("bench.replay", ["--limit", "3"], ["--limit", "1", "--contenders", "dlsp"]),),
    "edits": (Run("bench.edits", ["--limit", "12"], ["--limit", "1", "--variants", "teaching", "judged"]),),
}
