"""How much of the machine other programs take: what is measured beside them is no measurement."""

import time

import psutil


class Load:
    """From its making on; processes that ended before they were looked at count as others."""

    def __init__(self) -> None:
        self._began, self._all, self._own = time.monotonic(), _everyone(), _own()

    def others(self) -> float:
        """The share of all processors' time that programs other than this one and its children used."""
        whole = (time.monotonic() - self._began) * (psutil.cpu_count() or 1)
        used = (_everyone() - self._all) - (_own() - self._own)
        return max(0.0, min(1.0, used / whole))


def _everyone() -> float:
    now = psutil.cpu_times()
    return sum(now) - now.idle - getattr(now, "iowait", 0.0) - getattr(now, "guest", 0.0)


def _own() -> float:
    """Seconds that this process, its living children and theirs have worked."""
    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            spent = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += spent.user + spent.system
    return total
