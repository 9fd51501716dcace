"""What the benches of editors share: where keys are pressed, what a sample is, and how samples are summed up."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dlsp.engine import launch
from dlsp.models.catalogue import DEFAULT

SOURCE = Path(__file__).parents[1] / "examples" / "lending" / "fines.py"
GAP = "    return min(cents, HIGHEST_FINE)"
STARTS = ("    return ", "    cents = ", "    fine = ", "    if ", "    days = ")
KEYS = "cdfm"
# What stands in the line, and the key that is pressed after it.
PLACES = [(start, key) for start in STARTS for key in KEYS]
NAMES = ("over_ms", "server_ms", "key_to_visible_ms")


@contextmanager
def scratch() -> Iterator[tuple[Path, str, str]]:
    """A folder of files of one's own, and the source before and after its gap; an engine in it is ended after."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "state").mkdir()
        os.environ["DLSP_STATE_DIR"] = str(folder / "state")
        before, after = SOURCE.read_text().split(GAP)
        try:
            yield folder, before, after
        finally:
            asyncio.run(launch.stop(DEFAULT))


def sample(total_ms: float, server_ms: float) -> dict[str, float]:
    """From the key to visible text, and what of it was not the server's."""
    over = round(total_ms - server_ms, 2)
    return {"key_to_visible_ms": round(total_ms, 2), "server_ms": server_ms, "over_ms": over}


def metrics(samples: Sequence[dict[str, Any]], prefix: str = "") -> dict[str, float]:
    """Medians, 95th percentiles and the number of keys."""
    made: dict[str, float] = {f"{prefix}keys": len(samples)}
    for name in NAMES:
        values = [each[name] for each in samples]
        made[f"{prefix}{name}/median"] = round(statistics.median(values), 2)
        made[f"{prefix}{name}/p95"] = round(float(np.percentile(values, 95)), 2)
    return made
