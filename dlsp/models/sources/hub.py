"""The official file on the model hub (HF_ENDPOINT, else huggingface.co)."""

import queue
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from dlsp.models.catalogue import Model
from dlsp.models.disk import digest, require_space
from dlsp.models.progress import Progress
from dlsp.models.sources import Unavailable
from dlsp.models.sources.child import download

ANSWER_S = 3.0
STALL_S = 10.0

# Run in a child process, because the library retries for minutes where this should give up. `http_get` can resume;
# `hf_hub_download` always starts from the beginning.
CHILD = """
import sys
from huggingface_hub.file_download import http_get
url, file, size = sys.argv[1:]
with open(file, "ab") as stream:
    http_get(url, stream, resume_size=stream.tell(), expected_size=int(size))
"""


@dataclass(frozen=True)
class Hub:
    """The model hub as a source; downloads can resume."""

    name: str = "the model hub"

    def fetch(self, model: Model, candidate: Path, rest: Path, progress: Progress) -> str:
        url = _url(model)
        _answers(url)
        file = rest / "hub.partial"
        if (there := _size(file)) > model.size:
            file.unlink()
        require_space(rest, model.size - there)
        command = (sys.executable, "-P", "-c", CHILD, url, str(file), str(model.size))
        download(
            command,
            {"HF_HUB_DISABLE_PROGRESS_BARS": "1"},
            log=rest / "hub.log",
            size=lambda: _size(file),
            report=lambda done: progress.at("downloading", done, model.size),
            stall_s=STALL_S,
        )
        file.replace(candidate)
        return digest(candidate, model.size, progress)


def _url(model: Model) -> str:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise Unavailable("is switched off by HF_HUB_OFFLINE")
    return f"{constants.ENDPOINT}/{model.repo}/resolve/main/{model.file}"


def _answers(url: str) -> None:
    """Raise Unavailable unless the file's first byte arrives within ANSWER_S, redirects included.

    Runs in a thread, because a DNS lookup cannot be given a timeout.
    """
    reply: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask() -> None:
        import httpx

        first = {"Range": "bytes=0-0"}
        try:
            with httpx.stream("GET", url, headers=first, follow_redirects=True, timeout=ANSWER_S) as response:
                reply.put("" if response.is_success else f"answers {response.status_code}")
        except Exception as error:
            reply.put(f"cannot be reached ({error})")

    threading.Thread(target=ask, daemon=True).start()
    try:
        wrong = reply.get(timeout=ANSWER_S)
    except queue.Empty:
        wrong = f"does not answer within {ANSWER_S:.0f} s"
    if wrong:
        raise Unavailable(wrong)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
