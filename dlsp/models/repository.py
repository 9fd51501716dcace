"""A repository of the model hub (HF_ENDPOINT, else huggingface.co): the files that a model needs, brought by the
official client, each checked by the hash that the hub lists.
"""

import hashlib
import json
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsp.errors import UserError
from dlsp.models.disk import chunks, digest, require_space
from dlsp.models.progress import Progress
from dlsp.models.sources import Unavailable
from dlsp.models.sources.child import download

LIST_S = 15.0  # to wait for the list of files, redirects and a slow name server included
STALL_S = 30.0
MAX_FILES = 10_000

# What a folder's model is made of, besides its weights. Anything else in a repository stays there.
DESCRIPTIONS = ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "convention.json")
SINGLE, INDEX, WEIGHTS = "model.safetensors", "model.safetensors.index.json", ".safetensors"

# Run in a child process, which can be watched and ended. `http_get` can resume; `hf_hub_download` always starts from
# the beginning.
CHILD = """
import sys
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers
url, file, size = sys.argv[1:]
with open(file, "ab") as stream:
    http_get(url, stream, resume_size=stream.tell(), expected_size=int(size), headers=build_hf_headers())
"""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository, with its path there. `sha256` is empty for a small one, which has `blob`, git's hash."""

    path: str
    size: int
    sha256: str
    blob: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Repository:
    """The files of a repository, as of one commit."""

    name: str
    commit: str
    files: tuple[RemoteFile, ...]

    @classmethod
    def listed(cls, name: str, revision: str | None) -> "Repository":
        """What the hub lists of a repository, by default of its newest commit. Raises UserError with the reason."""
        found = _in_time(lambda: _info(name, revision), name)
        listed: list[Any] = found.siblings or []
        files = [
            RemoteFile(str(each.rfilename), each.size, each.lfs.sha256 if each.lfs else "", each.blob_id or "")
            for each in listed[:MAX_FILES]
            if isinstance(each.size, int) and each.size >= 0 and not set(each.rfilename) & set("\\:")
        ]
        if not found.sha:
            raise UserError(f"The model hub does not say which commit of {name} it lists.")
        return cls(name, found.sha, tuple(files))

    def model_files(self, wanted: str | None) -> tuple[list[RemoteFile], str]:
        """The files of its model, those that describe it first, and the name of the GGUF file if it is one. `wanted`
        names a GGUF file. Raises UserError if there is no model, or more than one.
        """
        here = {each.path: each for each in self.files}
        gguf = [each for each in self.files if each.name.endswith(".gguf")]
        if wanted:
            found = [each for each in gguf if wanted in (each.path, each.name)]
            if len(found) != 1:
                raise UserError(f"{self.name} has no GGUF file {wanted}: it has {_some(gguf)}.")
            return found, found[0].name
        if "config.json" in here and (SINGLE in here or INDEX in here):
            weights = (
                [here[SINGLE]]
                if SINGLE in here
                else [here[INDEX], *(each for path, each in here.items() if path.endswith(WEIGHTS) and "/" not in path)]
            )
            return [*(here[name] for name in DESCRIPTIONS if name in here), *weights], ""
        if len(gguf) == 1:
            return gguf, gguf[0].name
        if gguf:
            raise UserError(f"{self.name} has several GGUF files: name one with --file. It has {_some(gguf)}.")
        pickled = (
            " Its weights are pickled, which is never read."
            if any(each.path.endswith(".bin") for each in self.files)
            else ""
        )
        raise UserError(f"{self.name} has neither safetensors with a config.json nor a GGUF file.{pickled}")

    def bring(self, files: Sequence[RemoteFile], folder: Path, progress: Progress) -> None:
        """Download files into a folder. What is there already stays, and what is there in part is gone on with. Raises
        UserError, or OSError for a problem of the local disk.
        """
        lacking = [each for each in files if not (folder / each.name).is_file()]
        there = [_size(folder / f"{each.name}.incomplete") for each in lacking]
        require_space(folder, sum(each.size for each in lacking) - sum(there))
        for each in lacking:
            self._bring(each, folder, progress)

    def _bring(self, remote: RemoteFile, folder: Path, progress: Progress) -> None:
        from huggingface_hub import hf_hub_url

        partial = folder / f"{remote.name}.incomplete"
        url = hf_hub_url(self.name, remote.path, revision=self.commit)
        what = f"downloading {remote.name}"
        while _size(partial) != remote.size or not remote.size:
            before = _size(partial)
            if before > remote.size:
                partial.unlink()
            try:
                download(
                    (sys.executable, "-P", "-c", CHILD, url, str(partial), str(remote.size)),
                    {"HF_HUB_DISABLE_PROGRESS_BARS": "1"},
                    log=folder / "hub.log",
                    size=lambda: _size(partial),
                    report=lambda done: progress.at(what, min(done, remote.size), remote.size),
                    stall_s=STALL_S,
                )
                break
            except Unavailable as reason:
                if not before < _size(partial) < remote.size:
                    raise UserError(
                        f"The model hub {str(reason).rstrip('.')} at {remote.name}: the same command goes on from here."
                    ) from None
                progress.say(f"{remote.name} broke off at {_size(partial) / 1e6:,.0f} MB and goes on")
        if _size(partial) != remote.size or not _right(partial, remote, progress):
            partial.unlink(missing_ok=True)
            raise UserError(f"The model hub sent another {remote.name} than it lists: run the same command again.")
        partial.replace(folder / remote.name)


def indexed(files: Sequence[RemoteFile], folder: Path) -> list[RemoteFile]:
    """Those of a model's files that are needed: of several weights only what the index in `folder` names. Raises
    UserError if the index is damaged.
    """
    if not (folder / INDEX).is_file():
        return list(files)
    try:
        needed = set(json.loads((folder / INDEX).read_bytes())["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"The repository's {INDEX} is damaged.") from None
    if lacking := needed - {each.name for each in files}:
        raise UserError(f"The repository lacks {sorted(map(str, lacking))[0][:80]}, which its {INDEX} names.")
    return [each for each in files if not each.name.endswith(WEIGHTS) or each.name in needed]


def _info(name: str, revision: str | None) -> Any:
    from huggingface_hub import HfApi

    return HfApi().model_info(name, revision=revision, files_metadata=True, timeout=LIST_S)


def _in_time(ask: Callable[[], Any], name: str) -> Any:
    """The answer to `ask`. Runs in a thread, because a look-up of a name cannot be given a time limit."""
    from huggingface_hub import constants, errors

    by_hand = f"get the files of {name} onto this machine and run `dlsp model add PATH`"
    if constants.HF_HUB_OFFLINE:
        raise UserError(f"The model hub is switched off by HF_HUB_OFFLINE: {by_hand}.")
    replies: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        try:
            replies.put(ask())
        except Exception as error:
            replies.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        reply = replies.get(timeout=LIST_S)
    except queue.Empty:
        raise UserError(f"The model hub does not answer within {LIST_S:.0f} s: {by_hand}.") from None
    if isinstance(reply, errors.GatedRepoError):
        raise UserError(
            f"{name} is only for those who accepted its terms: do so at the hub, and log in with `hf auth login`."
        )
    if isinstance(reply, errors.RevisionNotFoundError):
        raise UserError(f"{name} has no such revision at the model hub.")
    if isinstance(reply, errors.RepositoryNotFoundError | errors.HFValidationError):
        raise UserError(f"The model hub has no {name}, or not for you; and there is no such path on this machine.")
    if isinstance(reply, errors.HfHubHTTPError):
        raise UserError(f"The model hub answers {reply.response.status_code}: try later, or {by_hand}.")
    if isinstance(reply, Exception):
        why = " ".join(str(reply).split())[:150] or type(reply).__name__
        raise UserError(f"The model hub cannot be reached ({why}): {by_hand}.")
    return reply


def _right(file: Path, remote: RemoteFile, progress: Progress) -> bool:
    """Whether the file has the hash that the hub lists."""
    if remote.sha256:
        return digest(file, remote.size, progress) == remote.sha256
    git = hashlib.sha1(f"blob {remote.size}\0".encode(), usedforsecurity=False)
    for piece in chunks(file):
        git.update(piece)
    return git.hexdigest() == remote.blob


def _some(files: Sequence[RemoteFile]) -> str:
    names = [each.path for each in files]
    return (", ".join(names[:8]) or "none") + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
