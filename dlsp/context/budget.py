"""How much the model sees."""

from dlsp.models.catalogue import Model
from dlsp.models.speed import Speed, speed, speeds

TOKENS = 1024
"""The budget where nobody waits at the keyboard: scripts, measurements."""
USUAL = (4096, 2048, 1024, 512)
READ_S = 0.8
"""A new place is read in so long, if the smallest budget allows it: more comes too late (bench/replay/NOTES.md)."""

LEAST, MOST = 128, 8192


def usual(model: Model) -> int:
    """The budget for a model on this machine, by what the engine measured of its steps; the least until it has."""
    known = speeds()
    return in_time(speed(model, known)[0]) if known else USUAL[-1]


def in_time(here: Speed) -> int:
    """The largest budget that is read in READ_S, else the least."""
    return next((budget for budget in USUAL if here.reads(budget) <= READ_S), USUAL[-1])


def within_bounds(budget: int) -> int:
    """A budget that makes sense: some lines at the least, at the most what the model reads well."""
    return min(max(budget, LEAST), MOST)
