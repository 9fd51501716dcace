"""How much the model sees."""

import json
from pathlib import Path

TOKENS = 1024
"""The budget where the prompt is read at some 500 tokens a second, as on two cores."""
LEAST, MOST = 128, 8192

CHUNK = 128
"""Rows of a step that reads the prompt."""
FASTER = ((20.0, 4096), (60.0, 2048))
"""At most so many milliseconds for such a step: a GPU, or a processor with many cores."""


def usual(costs: Path) -> int:
    """The budget for this machine, by what the engine measured of its steps (`costs`); the least until it has."""
    try:
        tables = [entry["costs"] for entry in json.loads(costs.read_text()).values()]
        step = min(table["milliseconds"][table["rows"].index(CHUNK)] for table in tables)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return TOKENS
    return next((budget for most, budget in FASTER if step <= most), TOKENS)


def within_bounds(budget: int) -> int:
    """A budget that makes sense: some lines at the least, at the most what the model reads well."""
    return min(max(budget, LEAST), MOST)
