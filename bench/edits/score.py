"""How far proposed hunks are the ones that were wanted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.edits.rows import Row
from dlsp.edits.history.hunks import Hunk


@dataclass(frozen=True)
class Outcome:
    """Of one row: hunks `wanted`, `shown`, `right` among those; `reached`: wanted ones whose lines were looked at."""

    wanted: int
    shown: int
    right: int
    reached: int

    @property
    def all_right(self) -> bool:
        return self.right == self.wanted == self.shown


def outcome(row: Row, shown: Iterable[Hunk], looked_at: Iterable[tuple[int, int]] = ()) -> Outcome:
    """`shown` are changes of the page's lines, those of adjacent lines taken as one; `looked_at` are ranges of rows."""
    hunks, places = joined(shown), list(looked_at)
    reached = sum(any(_covers(place, each) for place in places) for each in row.wanted)
    return Outcome(len(row.wanted), len(hunks), sum(each in row.wanted for each in hunks), reached)


def joined(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Hunks of adjacent lines as one, as a diff shows them."""
    found: list[Hunk] = []
    for hunk in sorted(hunks):
        last = found[-1] if found else None
        if last and last.end == hunk.start:
            found[-1] = Hunk(last.start, hunk.end, last.lines + hunk.lines)
        else:
            found.append(hunk)
    return found


def _covers(place: tuple[int, int], hunk: Hunk) -> bool:
    return (
        place[0] < hunk.end and hunk.start < place[1] if hunk.start < hunk.end else place[0] <= hunk.start <= place[1]
    )


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Shares over all hunks and rows; `quiet` is the share of rows in which nothing is shown."""
    wanted, shown, right = (sum(getattr(each, name) for each in outcomes) for name in ("wanted", "shown", "right"))
    return {
        "rows": len(outcomes),
        "hunks": wanted,
        "exact": right / max(1, wanted),
        "all_exact": sum(each.all_right for each in outcomes) / max(1, len(outcomes)),
        "shown": shown,
        "precision": right / max(1, shown),
        "false": (shown - right) / max(1, shown),
        "quiet": sum(not each.shown for each in outcomes) / max(1, len(outcomes)),
        "reached": sum(each.reached for each in outcomes) / max(1, wanted),
    }
