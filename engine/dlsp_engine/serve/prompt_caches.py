"""Prompt caches on disk: the keys and values of kept sessions, so that after the engine's next start the places where
its clients were need no prefill.

Each cache is a safetensors file, readable by this user only, with a manifest beside it (see `manifest`). It holds the
tokens of a prompt and its answer, and their keys and values as the engine's KV caches hold them.
"""

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dlsp_engine.decode.session import Session, common
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.machine import machine
from dlsp_engine.model import manifest
from dlsp_engine.model.cache import Cache
from dlsp_engine.serve.sessions import Sessions

log = logging.getLogger(__name__)

# The version of the files' content. Increase it with every change of the content, or of how keys and values are
# computed.
FORMAT = 1

DEFAULT_MB = 500
MIN_ROWS = 256  # of a session that is saved: fewer take a fraction of a second to prefill
MIN_NEW_SHARE = 1 / 8  # of a session's rows that a saved one must lack for it to be saved again
SAVE_S = 5.0  # after which no further session is begun to be saved: the engine may be ending
FREE_SHARE = 0.5  # of the disk's free bytes that a new file may take

TYPES = {torch.int8: "I8", torch.bfloat16: "BF16", torch.float32: "F32", torch.int32: "I32"}


def size_limit(setting: str) -> int:
    """Return how many bytes all prompt caches on disk may take. `setting` is a number of megabytes, 0 for none at all,
    or empty for DEFAULT_MB. Raises EngineError if it is no such number.
    """
    if not setting:
        return DEFAULT_MB * 10**6
    if not setting.isascii() or not setting.isdigit() or int(setting) > 2**20:
        raise EngineError("DLSP_PROMPT_CACHE_MB must be a whole number of megabytes from 0 to 1048576.")
    return int(setting) * 10**6


class PromptCaches:
    """The files of one engine in `folder`, which engines of other models may share. All files in it have at most
    `most_bytes` bytes together; those that were not used for longest are removed first.

    `save` and `restored` may run in a thread beside the scheduler's. A file that cannot be written or read is a cache
    that does not exist: nothing is raised.
    """

    def __init__(self, folder: Path, most_bytes: int, engine: Engine, version: str) -> None:
        """`version` is that of the engine's program."""
        self.folder = folder
        self.most_bytes = most_bytes
        self._kv = engine.model.new_cache().kv
        # By whether they are of published sessions (`Cache.published`).
        self._keys = {published: _key(engine, self._kv.bits, version, published) for published in (False, True)}
        self._like = [_kind(held) for held in engine.model.new_cache().held()]
        self._saved: dict[Path, list[int]] = {}  # the tokens of each file

    def restored(self) -> Iterator[Session]:
        """Yield a session for each file, the last used first. Damaged files are removed.

        The keys and values stay in the file and are mapped: a session takes memory once they are read. It must not be
        advanced, but others can borrow its rows.
        """
        manifest.sweep(self.folder)
        mine = [path for path in self._files("*.safetensors") if path.name.split("-")[0] in self._keys.values()]
        for path in reversed(mine):
            session = self._read(path)
            if session:
                self._saved[path] = session.tokens
                yield session
            elif path.exists():
                log.warning("the prompt cache %s is damaged: it is removed", path.name)
                _remove(path)

    def save(self, sessions: Sessions) -> None:
        """Write the sessions that are not saved yet, the last used first. A session replaces a saved one that shares
        more than half of its rows with it.

        If a step takes one of the sessions meanwhile, the rest is left for the next call.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self.folder / manifest.LOCK, timeout=0):
                self._save(sessions)
        except Timeout:
            return  # an engine of another model writes here; there will be a next time
        except OSError as error:
            log.warning("prompt caches could not be saved (%s)", error.strerror or type(error).__name__)

    def _save(self, sessions: Sessions) -> None:
        began, now = time.monotonic(), time.time()
        current: dict[Path, list[int]] = {}  # files of sessions that are kept now
        for place, session in enumerate(reversed(list(sessions))):
            takes = sessions.takes
            tokens = session.tokens[: session.cache.length]
            key = self._keys[session.cache.published]
            alike = [known for path, known in current.items() if path.name.startswith(key)]
            if (
                session.cache.edits
                or len(tokens) < MIN_ROWS
                or any(common(one, tokens) > len(tokens) // 2 for one in alike)
            ):
                continue
            path = self._having(tokens, key)
            if path is None:
                if time.monotonic() - began > SAVE_S:
                    return
                held = session.cache.held()
                if sum(one.nbytes for one in held) > self._room():
                    continue
                path = self.folder / f"{key}-{_digest(tokens)}.safetensors"
                if not _written(path, tokens, held, lambda takes=takes: sessions.takes == takes):
                    return
                for other, known in list(self._saved.items()):
                    if other not in current and other.name.startswith(key) and common(known, tokens) > len(known) // 2:
                        self._forget(other)
                self._saved[path] = tokens
            current[path] = self._saved[path]
            os.utime(path, (now - place, now - place))
            self._evict()

    def _having(self, tokens: list[int], key: str) -> Path | None:
        """The file of that key that has nearly all of these tokens; None if there is none."""
        for path, saved in list(self._saved.items()):
            if not path.exists():
                del self._saved[path]  # an engine of another model has removed it
            elif path.name.startswith(key) and common(saved, tokens) >= (1 - MIN_NEW_SHARE) * len(tokens):
                return path
        return None

    def _room(self) -> float:
        """How many bytes a new file may have."""
        return min(self.most_bytes, FREE_SHARE * shutil.disk_usage(self.folder).free)

    def _read(self, path: Path) -> Session | None:
        """The session in a file, which is hashed first; None if the file is not what its manifest says."""
        try:
            if not manifest.whole(path, thorough=True):
                return None
            with safe_open(path, framework="pt") as file:
                tokens = file.get_tensor("tokens").tolist()
                held = [file.get_tensor(str(number)) for number in range(len(self._like))]
        except (OSError, SafetensorError):
            return None
        if [_kind(one) for one in held] != self._like or any(one.shape[3] != len(tokens) for one in held):
            return None
        session = Session(Cache.holding(self._kv, held))
        session.tokens, session.cache.published = tokens, path.name.startswith(self._keys[True])
        return session

    def _evict(self) -> None:
        """Remove the files that were not used for longest, of any engine, until the others fit."""
        files = self._files("*.safetensors")
        total = sum(path.stat().st_size for path in files)
        for path in files:
            if total <= self.most_bytes:
                return
            total -= path.stat().st_size
            self._forget(path)

    def _forget(self, path: Path) -> None:
        self._saved.pop(path, None)
        _remove(path)

    def _files(self, pattern: str) -> list[Path]:
        """The files in the folder, that which was not used for longest first."""
        found: list[tuple[int, Path]] = []
        for path in self.folder.glob(pattern):
            try:
                found.append((path.lstat().st_mtime_ns, path))
            except OSError:
                continue  # an engine of another model has removed it
        return [path for _, path in sorted(found)]


def _key(engine: Engine, bits: int, version: str, published: bool) -> str:
    """A hash of what keys and values depend on besides the tokens."""
    about = [FORMAT, version, engine.weights, engine.model.adapter.metadata, engine.dtype, bits, machine(), published]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]


def _digest(tokens: list[int]) -> str:
    return hashlib.sha256(json.dumps(tokens).encode()).hexdigest()[:16]


def _kind(held: Tensor) -> tuple[torch.Size, torch.Size, torch.dtype]:
    """What a tensor of keys and values is but for the number of positions."""
    return held.shape[:3], held.shape[4:], held.dtype


def _written(path: Path, tokens: list[int], held: list[Tensor], unchanged: Callable[[], bool]) -> bool:
    """Write a file and its manifest. Returns False, and leaves none, if what was written is not `unchanged`."""
    partial = path.with_suffix(".partial")
    tensors = {"tokens": torch.tensor(tokens, dtype=torch.int32)}
    try:
        _write(partial, tensors | {str(number): one for number, one in enumerate(held)})
        if not unchanged():
            return False
        manifest.publish(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return True


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file. Unlike safetensors' own function it makes no copy of the tensors, which may be views:
    a session may have hundreds of megabytes.
    """
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            for part in tensor.flatten(0, 2) if tensor.dim() > 3 else [tensor]:
                file.write(part.view(torch.uint8).numpy().data)


def _remove(path: Path) -> None:
    for each in (path, manifest.path_of(path)):
        try:
            each.unlink(missing_ok=True)
        except OSError:
            return  # on Windows, while it is mapped
