"""How many suggestions the user accepted, by day, for `dlsp status`. Kept in the state folder alone."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from dlsp import atomic, paths
from dlsp.errors import UserError

FILE_NAME = "accepts.json"
KEPT_DAYS = 60


class Total(NamedTuple):
    """Accepted suggestions, partly accepted ones included, and the characters accepted of them."""

    suggestions: int = 0
    characters: int = 0


class Accepts:
    """Counts what this process is told; `save` adds it to the file, which other servers share."""

    def __init__(self, today: Callable[[], date] = date.today) -> None:
        self._today = today
        self._since: Counter[tuple[str, str]] = Counter()  # by day and field of Total
        self._last, self._last_characters = "", 0

    def accepted(self, text: str, length: int, id: str | None = None) -> None:
        """The first `length` UTF-16 units of the suggestion `text` are accepted, some of them perhaps by earlier calls;
        `id` tells suggestions with the same text apart."""
        encoded = text.encode("utf-16-le", "surrogatepass")[: 2 * max(0, length)]
        characters = len(encoded.decode("utf-16-le", "replace"))
        suggestion = id or text
        known = self._last_characters if suggestion == self._last else 0
        if characters <= known:
            return
        day = self._today().isoformat()
        self._since[day, "suggestions"] += not known
        self._since[day, "characters"] += characters - known
        whole = characters == len(text)
        self._last, self._last_characters = ("", 0) if whole else (suggestion, characters)

    def save(self) -> None:
        """Add the counts to the file and start from zero. Does nothing if the file cannot be written. May run in a
        thread."""
        since, file = {key: count for key, count in self._since.items() if count}, _file()
        if file is None or not since:
            return
        oldest = (self._today() - timedelta(KEPT_DAYS)).isoformat()
        try:
            with FileLock(file.with_suffix(".lock"), timeout=1):
                days = {day: total for day, total in _read(file).items() if day >= oldest}
                for (day, field), count in since.items():
                    total = days.get(day, Total())
                    days[day] = total._replace(**{field: getattr(total, field) + count})
                atomic.write(file, json.dumps(days).encode())
        except (OSError, Timeout):
            return  # kept for the next save
        self._since.subtract(since)


def total(days: int, today: date | None = None) -> Total:
    """What was accepted and saved on the last `days` days, today included."""
    first = ((today or date.today()) - timedelta(days - 1)).isoformat()
    found = [total for day, total in _read(_file()).items() if day >= first]
    return Total(sum(each.suggestions for each in found), sum(each.characters for each in found))


def _file() -> Path | None:
    try:
        return paths.state_dir() / FILE_NAME
    except UserError:
        return None


def _read(file: Path | None) -> dict[str, Total]:
    try:
        days: dict[str, list[int]] = json.loads(file.read_text()) if file else {}
        return {date.fromisoformat(day).isoformat(): Total(int(a), int(b)) for day, (a, b) in days.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
