"""What the blocks share."""

import textwrap
from collections.abc import Mapping

from bench.report.load import Result, Results
from dlsp.errors import UserError

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"


class Needed:
    """The results, where a missing one is an error that says which. Remembers what was read of another machine."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._elsewhere: dict[str, Result] = {}

    def __contains__(self, name: str) -> bool:
        return self._results.one(name) is not None

    def __getitem__(self, name: str) -> Result:
        if (found := self._results.one(name)) is None:
            raise UserError(f"The pages need bench/results/{name}-{self._results.machine}.json: run its bench again.")
        if found.machine != self._results.machine:
            self._elsewhere[name] = found
        return found

    @property
    def elsewhere(self) -> str:
        """A paragraph that says which of the results that were read are of another machine, empty if none is."""
        of: dict[str, list[str]] = {}
        for one in self._elsewhere.values():
            of.setdefault(one.more.get("hardware", one.machine), []).append(one.command)
        said = (f"On {hardware}: {listed([f'`{one}`' for one in commands])}." for hardware, commands in of.items())
        return "\n\n" + prose(" ".join(said)) if of else ""


def milliseconds(metrics: Mapping[str, float], name: str, digits: int) -> str:
    return spread(metrics[f"{name}/p50"], metrics[f"{name}/p99"], 99, digits)


def spread(middle: float, most: float, percentile: int, digits: int) -> str:
    """The median of some milliseconds and that percentile of them."""
    return f"{middle:.{digits}f} ms ({percentile}th percentile {most:.{digits}f})"


def prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False, break_long_words=False)


def ran(result: Result) -> str:
    """What was typed for the numbers."""
    return f"`{result.command}`"


def listed(texts: list[str]) -> str:
    return ", ".join(texts[:-1]) + f" and {texts[-1]}" if len(texts) > 1 else "".join(texts)
