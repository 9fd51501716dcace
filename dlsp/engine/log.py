"""Follow what an engine writes while it loads."""

import os
from pathlib import Path


class Log:
    """What is appended to a log file from now on, line by line. The engine begins anew one that has grown long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = ""
        self._seen = path.stat().st_size if path.exists() else 0

    def news(self) -> list[str]:
        """The lines finished since the last call, blank ones left out."""
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
