"""How much of what was accepted still stands some time later."""

from dataclasses import dataclass

KEPT_S, KEPT_KEYS = 30, 50


@dataclass
class _Accepted:
    """Since when, and how many of its characters stood when time and keys were over; None while they are not."""

    seconds: float
    keys: int
    kept_s: int | None = None
    kept_keys: int | None = None


class Kept:
    """Follows the edits of a document of so many characters. Who accepted a text is told by a number."""

    def __init__(self, characters: int) -> None:
        self._owners: list[int | None] = [None] * characters
        self._accepted: dict[int, _Accepted] = {}
        self._seconds, self._keys = 0.0, 0

    def inserted(self, at: int, count: int, accepted: int | None) -> None:
        """`accepted` is the number of who accepted the text, None where it was typed."""
        self._owners[at:at] = [accepted] * count
        if accepted is not None:
            self._accepted[accepted] = _Accepted(self._seconds, self._keys)

    def deleted(self, at: int, count: int) -> None:
        del self._owners[at : at + count]

    def passed(self, seconds: float) -> None:
        """A key came, and so much time until the next."""
        self._seconds += seconds
        self._keys += 1
        for number, one in self._accepted.items():
            if one.kept_s is None and self._seconds - one.seconds >= KEPT_S:
                one.kept_s = self._standing(number)
            if one.kept_keys is None and self._keys - one.keys >= KEPT_KEYS:
                one.kept_keys = self._standing(number)

    def counts(self) -> dict[int, dict[str, int]]:
        """By number; what was still to come counts as it stands."""
        found = {}
        for number, one in self._accepted.items():
            now = self._standing(number)
            kept_s, kept_keys = (now if kept is None else kept for kept in (one.kept_s, one.kept_keys))
            found[number] = {"kept_s": kept_s, "kept_keys": kept_keys}
        return found

    def _standing(self, number: int) -> int:
        return self._owners.count(number)
