"""A model hub on loopback, which the official client reaches as HF_ENDPOINT: it lists repositories, redirects to where
files lie, hands them out from any byte on, and breaks off or lies where a test says so.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import cast
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """`repositories`: name -> path -> content. `breaks`: path -> the bytes after which its next answers end, one each.
    `listed`: path -> another content, by which its size and hash are listed. `asked`: path and first byte of each
    request for a file.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.breaks: dict[str, list[int]] = {}
        self.listed: dict[str, bytes] = {}
        self.asked: list[tuple[str, int]] = []
        self.revisions: list[str] = []
        self.gated: set[str] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self._list("/".join(parts[2:4]), parts[5] if parts[4:5] == ["revision"] else "main")
        elif parts[0] == "content":
            self._content("/".join(parts[1:3]), "/".join(parts[3:]))
        else:  # ORG/MODEL/resolve/COMMIT/PATH
            self._answer(302, b"", Location="/content/" + "/".join([*parts[:2], *parts[4:]]))

    def _list(self, name: str, revision: str) -> None:
        hub = cast(Hub, self.server)
        hub.revisions.append(revision)
        if name in hub.gated:
            return self._answer(403, b"{}", error="GatedRepo")
        if name not in hub.repositories:
            return self._answer(404, b"{}", error="RepoNotFound")
        if revision not in ("main", COMMIT):
            return self._answer(404, b"{}", error="RevisionNotFound")
        files = []
        for path, content in hub.repositories[name].items():
            content = hub.listed.get(path, content)
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            file = {"rfilename": path, "size": len(content), "blobId": blob}
            if path.endswith((".safetensors", ".gguf")):
                lfs = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
                file["lfs"] = lfs
            files.append(file)
        self._answer(200, json.dumps({"id": name, "sha": COMMIT, "siblings": files}).encode())

    def _content(self, name: str, path: str) -> None:
        hub = cast(Hub, self.server)
        content = hub.repositories[name][path]
        start = int(self.headers.get("Range", "bytes=0-")[6:].partition("-")[0])
        hub.asked.append((path, start))
        body = content[start:]
        limits = hub.breaks.get(path)
        sent = body[: limits.pop(0)] if limits else body
        where = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._answer(206 if start else 200, sent, len(body), **{"Content-Range": where})

    def _answer(self, status: int, body: bytes, length: int | None = None, error: str = "", **headers: str) -> None:
        headers |= {"X-Error-Code": error} if error else {}
        self.send_response(status)
        for header, value in (headers | {"Content-Length": str(len(body) if length is None else length)}).items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that this process and its children use."""
    with Hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            hub.address + "/{repo_id}/resolve/{revision}/{filename}",
        )
        Thread(target=hub.serve_forever, daemon=True).start()
        yield hub
        hub.shutdown()
