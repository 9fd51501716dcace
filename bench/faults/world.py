"""An editor, the server and the engine, in folders of their own where faults harm nobody else."""

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from dlsp import paths
from dlsp.engine import processes, state
from dlsp.models import store
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.editor import Editor

URI = "untitled:sums.py"
TEXT = "#\ndef add(a: int, b: int) -> int:\n    return \n"
LINE, COLUMN = 2, 11
MOST_S = 5.0
# More than our own logs ever take: else they fill it, and nothing frees it again.
SMALL_DISK = "16m"


class World:
    """`disk` says whether the state folder is a small disk of its own, which can be filled."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dlsp-faults-")
        root = Path(self._folder.name)
        self.state, self.cache = root / "state", root / "cache"
        self.state.mkdir()
        self.disk = _mount(self.state)
        (self.cache / "models").mkdir(parents=True)
        _borrow(store.path(DEFAULT), paths.cache_dir() / "converted", self.cache)
        self._before = {name: os.environ.get(name) for name in ("DLSP_STATE_DIR", "DLSP_CACHE_DIR")}
        os.environ |= {"DLSP_STATE_DIR": str(self.state), "DLSP_CACHE_DIR": str(self.cache)}
        self.editor = self._editor()
        self._asked, self._comment = 0, ""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(Exception):
            await asyncio.wait_for(self.editor.__aexit__(), 10)
        for process in psutil.process_iter(["cmdline"]):
            if str(self.state) in (process.info["cmdline"] or []):  # also one that loads still, or is frozen
                process.kill()
        for name, value in self._before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        if self.disk:
            subprocess.run(["umount", "-l", str(self.state)], check=False)
        self._folder.cleanup()

    async def open(self) -> None:
        """A new editor with its own server."""
        self.editor = self._editor()
        await self.editor.__aenter__()
        self.editor.open(URI, TEXT)
        self._comment = ""

    @staticmethod
    def _editor() -> Editor:
        """Eager: whether an engine answers is what is asked here, not whether it is sure."""
        return Editor(options={"suggest": "eager"})

    async def ask(self) -> str:
        """What `timed` says."""
        return (await self.timed())[0]

    async def timed(self) -> tuple[str, float]:
        """Type, so that nothing known answers, and ask: the suggestion, or the reason after `quiet: `; and seconds."""
        self._asked += 1
        if self._comment:
            self.editor.delete(URI, 0, 1, 1 + len(self._comment))
        self._comment = f" sum {self._asked}"  # not ever longer: a model in front of a wall of text is not sure
        self.editor.type(URI, 0, 1, self._comment)
        began = time.monotonic()
        answer = await asyncio.wait_for(self.editor.ask(URI, LINE, COLUMN), 2 * MOST_S)
        took = time.monotonic() - began
        assert took <= MOST_S, f"a request took {took:.1f} s"
        if answer.items:
            return str(answer.items[0].insert_text), took
        reasons = [line for line in self.editor.log if line.startswith("quiet: ")]
        assert reasons, self.editor.log
        return reasons[-1], took

    async def suggested(self, within: float) -> float:
        """Seconds until there is a suggestion again; each request meanwhile has a reason."""
        began = time.monotonic()
        while (said := await self.ask()).startswith("quiet: "):
            assert time.monotonic() - began < within, f"no suggestion after {within:.0f} s: {said}"
            await asyncio.sleep(0.05)
        return time.monotonic() - began

    def logs(self) -> str:
        """The ends of what the server and the engine wrote, and who runs, to find a failure's cause by."""
        told = [f"{file.name}:\n{file.read_text(errors='replace')[-3000:]}" for file in self.state.glob("*.log")]
        files = ", ".join(sorted(each.name for each in self.state.iterdir()))
        mine = [each.info for each in psutil.process_iter(["pid", "status", "cpu_times", "cmdline"])]
        runs = [
            f"{each['pid']} {each['status']} {each['cpu_times']}"
            for each in mine
            if str(self.state) in (each["cmdline"] or [])
        ]
        return "\n".join([*told, files, *runs])

    def kill_engine(self) -> None:
        if found := state.read(DEFAULT.name):
            processes.kill(found)


def _borrow(model: Path, converted: Path, cache: Path) -> None:
    """The model and what was made of it, by links: what a fault damages is replaced, never written into."""
    (cache / "models" / model.name).symlink_to(model)
    for file in [converted.parent / "costs.json", *converted.glob(f"{model.stem}-*/*")]:
        place = cache / file.relative_to(converted.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, place)
        except FileNotFoundError:
            continue
        except OSError:  # another file system
            shutil.copy(file, place)


def _mount(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK},mode=700", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
