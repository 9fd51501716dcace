"""The users of a team's server: who a token belongs to, and what each may ask at once and in a minute."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dlsp.errors import UserError
from dlsp.team import tokens
from dlsp.team.config import Limits

log = logging.getLogger(__name__)

CHECK_S = 1.0  # between two looks at the file of tokens
MINUTE_S = 60.0

Stamp = tuple[int, int, int] | None


@dataclass
class _Use:
    """What a user asks at the moment: `left` is how many more requests would be answered at the time `at`, in seconds
    of the clock of `Users`; `ongoing` how many are being answered."""

    left: float
    at: float
    ongoing: int = 0


class Users:
    """Knows users by their tokens, and counts what they ask. The file of tokens is read again when it changes, so a
    revoked token is refused within CHECK_S seconds. A file that cannot be read lets nobody in."""

    def __init__(self, file: Path, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._limits, self._clock = file, limits, clock
        self._by_hash: dict[str, str] = {}
        self._uses: dict[str, _Use] = {}
        self._stamp: Stamp = None
        self._checked = -float("inf")

    def of(self, token: str) -> str | None:
        """The user whose token this is; None if it is nobody's."""
        self._refresh()
        return self._by_hash.get(tokens.hash_of(token))

    def begin(self, user: str) -> str:
        """Count a request that begins. Returns "", or why it is refused, in a sentence; then it is not counted."""
        now, limits = self._clock(), self._limits
        use = self._uses.setdefault(user, _Use(limits.requests_per_minute, now))
        gained = (now - use.at) * limits.requests_per_minute / MINUTE_S
        use.left, use.at = min(limits.requests_per_minute, use.left + gained), now
        if use.ongoing >= limits.ongoing:
            return (
                f"You have {limits.ongoing} requests at work, the most that one user may have: ask again in a moment."
            )
        if use.left < 1:
            return f"You asked {limits.requests_per_minute} times in a minute, the most for one user: wait a moment."
        use.left -= 1
        use.ongoing += 1
        return ""

    def end(self, user: str) -> None:
        """Count a request that has ended."""
        self._uses[user].ongoing -= 1

    def _refresh(self) -> None:
        if self._clock() - self._checked < CHECK_S:
            return
        self._checked = self._clock()
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._by_hash = {each.hash: each.user for each in tokens.read(self._file)}
        except UserError as error:
            log.error("%s Nobody is let in until it can.", error)
            self._by_hash = {}


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
