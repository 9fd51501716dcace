"""What the benchmark consists of, and what of it runs at which size."""

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

    @property
    def there(self) -> bool:
        return find_spec(self.module) is not None


def _quality(name: str, limit: int, quick: int | None = None, variants: Sequence[str] = QUALITY_VARIANTS) -> Run:
    def arguments(number: int) -> list[str]:
        return ["--set", name, "--dtype", "int8", "--limit", str(number), "--variants", *variants]

    return Run("bench.quality", arguments(limit), arguments(quick) if quick else None)


UNKNOWN = [name for name in QUALITY_VARIANTS if not name.endswith("known")]

PARTS: dict[str, Sequence[Run]] = {
    "steps": (
        Run("bench.decode", ["--gaps", "16", "--dtype", "int8"], ["--gaps", "2", "--dtype", "int8"]),
        Run("bench.watch", [], ["--gaps", "1", "--rounds", "1"]),
    ),
    "latency": (
        Run("bench.start", ["--runs", "5"], ["--runs", "1"]),
        Run("bench.peers", ["--gaps", "6"], ["--gaps", "1", "--measures", "line,typed"]),
        Run("bench.peers", ["--gaps", "2", "--model", "1.5b", "--measures", "decode,line,typed"]),
        Run("bench.growth", [], ["--quick"]),
    ),
    "quality": (
        _quality("single-line", 60, 4),
        _quality("random-span-light", 20, variants=UNKNOWN),
        _quality("safim", 16, variants=UNKNOWN),
    ),
    "replay": (Run("bench.replay", ["--limit", "10", "--minutes", "5"], ["--limit", "1"]),),
    "edits": (Run("bench.edits", ["--limit", "20"], ["--limit", "1"]),),
}
"""In the order in which `all` runs them; `report` comes last."""
