"""Follow the engine's log while it loads."""

import os
from pathlib import Path


class Log:
    """The lines appended to a log file after this object was made. The engine truncates a log that has grown long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = ""
        self._seen = path.stat().st_size if path.exists() else 0

    def news(self) -> list[str]:
        """The lines completed since the last call, without blank ones."""
        try:
            with self.path.open("rb") as file:
                self._seen = self._seen if file.seek(0, os.SEEK_END) >= self._seen else 0
                file.seek(self._seen)
                said = file.read()
        except OSError:
            return []
        whole = said[: max(said.rfind(b"\n"), said.rfind(b"\r")) + 1]
        self._seen += len(whole)
        lines = [line.strip() for line in whole.decode("utf-8", "replace").splitlines() if line.strip()]
        self.last = lines[-1] if lines else self.last
        return lines
