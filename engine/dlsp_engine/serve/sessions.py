"""Keeps sessions with their prefilled prompts: for the next request at the same place, and for requests that return to
an earlier place.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from itertools import count

from dlsp_engine.decode.session import Session

MAX_KEPT_BYTES = 256 * 2**20


class Sessions:
    """Sessions that are kept under a name, and sessions of places that were left, kept under a number. Together they
    have at most `most_bytes` bytes of keys and values; the least recently kept are dropped first.
    """

    def __init__(self, most_bytes: int = MAX_KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, Session] = OrderedDict()
        self._numbers = count()
        self.takes = 0  # sessions that were taken so far

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._kept.values()))

    @property
    def bytes(self) -> int:
        """Bytes of keys and values in all sessions."""
        return sum(session.cache.bytes for session in self)

    def take(self, name: Hashable | None) -> Session | None:
        """Remove the session of that name and return it; None if there is none."""
        session = self._kept.pop(name, None) if name else None
        self.takes += session is not None
        return session

    def keep(self, name: Hashable | None, session: Session) -> None:
        """Keep `session` under `name`; without a name it is dropped."""
        if name:
            self._keep(name, session)

    def keep_unnamed(self, session: Session) -> None:
        """Keep the session of a place that was left, so that requests that return there can copy its rows. It replaces
        older ones of this sort that share more than half of their rows with it.
        """
        for name, other in list(self._kept.items()):
            if isinstance(name, int) and session.shares(other) > other.cache.length // 2:
                del self._kept[name]
        self._keep(next(self._numbers), session)

    def restore(self, session: Session) -> None:
        """Keep a session of an earlier engine, like that of a place that was left, if there is room for it."""
        if self.bytes + session.cache.bytes <= self.most_bytes:
            self._kept[number := next(self._numbers)] = session
            self._kept.move_to_end(number, last=False)

    def _keep(self, name: Hashable, session: Session) -> None:
        if session.cache.bytes > self.most_bytes:
            # Copying drops the cache's spare room; if that is not enough, only a beginning of it is kept.
            fitting = session.cache.fitting(self.most_bytes)
            if fitting <= 0:
                return
            session.cache = session.cache.fork(min(session.cache.length, fitting))
        self._kept[name] = session
        self._kept.move_to_end(name)
        self.shrink(self.most_bytes)

    def shrink(self, most_bytes: int) -> None:
        """Drop the least recently kept sessions until the others have at most `most_bytes` bytes."""
        while self.bytes > most_bytes:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()
