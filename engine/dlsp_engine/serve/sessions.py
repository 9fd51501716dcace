"""Prefilled prompts, kept for the next request of the same place, and for coming back to one."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from itertools import count

from dlsp_engine.decode.session import Session

MOST_BYTES = 256 * 2**20


class Sessions:
    """Sessions by name, and by number those of places that were left: at most `most_bytes` of keys and values, the
    least recently kept dropped first.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, Session] = OrderedDict()
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._kept.values()))

    @property
    def bytes(self) -> int:
        return sum(session.cache.bytes for session in self)

    def take(self, name: Hashable | None) -> Session | None:
        """The session of that name, which is the caller's now; None if none is kept."""
        return self._kept.pop(name, None) if name else None

    def keep(self, name: Hashable | None, session: Session) -> None:
        """Keep `session` under a name; without one it is let go."""
        if name:
            self._keep(name, session)

    def keep_unnamed(self, session: Session) -> None:
        """Keep the session of a place that was left, for who comes back to copy from, in place of an older one."""
        for name, other in list(self._kept.items()):
            if isinstance(name, int) and session.shares(other) > other.cache.length // 2:
                del self._kept[name]
        self._keep(next(self._numbers), session)

    def _keep(self, name: Hashable, session: Session) -> None:
        if session.cache.bytes > self.most_bytes:
            # Without the room that it grew into; if that is still too much, the beginning of it.
            fitting = session.cache.fitting(self.most_bytes)
            if fitting <= 0:
                return
            session.cache = session.cache.fork(min(session.cache.length, fitting))
        self._kept[name] = session
        self._kept.move_to_end(name)
        while self.bytes > self.most_bytes:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()
