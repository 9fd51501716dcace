"""An engine without a model: speaks the engine's HTTP interface and says what a test tells it to.

In a test: `StubEngine(folder)`. As a process, for the tests of starting one:
`python stub_engine.py --state FOLDER [--load SECONDS] [--fail SENTENCE] [--version VERSION] [--tcp] [--unproved]`.
"""

import argparse
import hashlib
import hmac
import json
import os
import re
import secrets
import select
import socket
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from filelock import FileLock, Timeout

from dlsp import __version__
from dlsp.engine import processes

MOST_PATH_BYTES = 103
MODEL = "qwen2.5-coder-0.5b"
COST = {
    "forwards": 4,
    "rows": 14,
    "tokens": 7,
    "tau": 1.75,
    "prompt_tokens": 31,
    "cached_tokens": 0,
    "queue_ms": 0.1,
    "prefill_ms": 61.0,
    "decode_ms": 142.0,
}


class StubEngine:
    """Answers each infill with `answer(request)`; while `hold` is set, only when it is cleared.

    `requests` holds what was asked, `clients` by whom, `dropped` the requests whose client went away while they were
    held. `raw`, if set, is sent as the answer's body instead; while `more` is set, the answer goes on, once it is
    cleared, with what `raw` is then. Until then it sends blank lines if it `beats`, as an engine does that works.
    """

    def __init__(self, folder: Path, version: str = __version__, tcp: bool = sys.platform == "win32") -> None:
        self.reset()
        self.nonce, self.token = secrets.token_hex(8), secrets.token_hex(8)
        self.version = version
        self.file = folder / f"engine-{MODEL}.json"
        self.proves = True  # that it knows the token
        self.connections: set[socket.socket] = set()
        self.path: Path | None = None  # of its Unix socket
        if tcp:
            self.http: socketserver.TCPServer = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
            self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        else:
            self.path = folder / f"{self.nonce}.sock"
            if len(os.fsencode(self.path)) > MOST_PATH_BYTES:
                self.path = Path(tempfile.gettempdir()) / f"dlsp-{self.nonce}.sock"
            place: Any = str(self.path)
            self.http = _UnixServer(place, self._handler())
            self.address = f"unix:{self.path}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    def reset(self) -> None:
        """Forget what was asked, and answer as at first."""
        self.answer: Callable[[dict[str, Any]], str] = lambda request: "a + b"
        self.step: dict[str, Any] = {}  # of its health
        self.hold = threading.Event()
        self.raw: bytes | None = None
        self.more = threading.Event()
        self.beats = False
        self.status = 200
        self.requests: list[dict[str, Any]] = []
        self.clients: list[str | None] = []
        self.dropped: list[dict[str, Any]] = []

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests for gaps, but for those ahead of a question."""
        return [each for each in self.requests if "gaps" in each and each.get("priority") != "prefetch"]

    def __enter__(self) -> Self:
        self.thread.start()
        state = {
            "address": self.address,
            "token": self.token,
            "nonce": self.nonce,
            "pid": os.getpid(),
            "model": MODEL,
            "version": self.version,
            "started": time.time(),
            "birth": processes.birth(os.getpid()),
        }
        self.file.write_text(json.dumps(state))
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()
        self.hold.clear()
        self.die()

    def die(self) -> None:
        """Let go of the port and of every connection, as the end of a process does."""
        self.http.shutdown()
        self.http.server_close()
        if self.path:
            self.path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """Close the connections that are kept."""
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_for(self, happened: Callable[[Self], object], seconds: float = 30) -> None:
        """Until `happened(self)`; the test fails if that takes too long."""
        deadline = time.monotonic() + seconds
        while not happened(self):
            assert time.monotonic() < deadline, "the stub engine waited in vain"
            time.sleep(0.01)

    def forget(self) -> None:
        """Remove the state file, unless it is another engine's by now."""
        if self.file.exists() and self.nonce in self.file.read_text():
            self.file.unlink()

    def sites(self, request: dict[str, Any]) -> bytes:
        """Every first candidate is what should stand there."""
        old, new = ({"with": each, "without": None, "tokens": 8} for each in (-20.0, -1.0))
        events: list[dict[str, Any]] = []
        for number, site in enumerate(request["sites"]):
            judged = {"text": old, "candidates": [new for _ in site.get("candidates", [])], "proposal": None}
            events.append({"event": "site", "site": number, **judged, "cost": COST})
        return b"".join(json.dumps(each).encode() + b"\n" for each in [*events, {"event": "done"}])

    def rewrite(self, request: dict[str, Any]) -> bytes:
        """The first character of every window is to be an x."""
        change = {"start": 0, "end": 1, "text": "x", "log_p": -0.5}
        judged = {"changes": [change], "reason": "end", "doubt": 1.0, "doubted": 0, "cost": COST}
        events = [{"event": "rewrite", "window": at, **judged} for at in range(len(request["windows"]))]
        return b"".join(json.dumps(each).encode() + b"\n" for each in [*events, {"event": "done"}])

    def tokens(self, request: dict[str, Any]) -> bytes:
        """Each character is a token, by its code. A chat's prompt is its last message."""
        prompt = request["prompt"] if "prompt" in request else request["messages"][-1]["content"]
        ids = [ord(each) if isinstance(each, str) else each for each in prompt]
        pieces = [chr(each % 128) for each in ids]
        event = {"event": "tokens", "tokens": ids, "pieces": pieces, "text": "".join(pieces)}
        return b"".join(json.dumps(each).encode() + b"\n" for each in (event, {"event": "done"}))

    def generation(self, request: dict[str, Any]) -> bytes:
        """Answer i of a request to go on from a prompt is that of its seed + i. The last of its words comes at the
        end, as a draft before it."""
        events: list[dict[str, Any]] = []
        for number in range(request.get("n", 1)):
            text = self.answer(request | {"seed": request.get("seed", 0) + number})
            pieces = [each for each in re.split(r"(?<=\s)", text) if each] or [""]
            begun = "".join(pieces[:-1])
            events.append({"event": "text", "answer": number, "text": begun, "canvas": [pieces[-1], None]})
            confidence = [[len(each), -0.5] for each in pieces]
            event = {"event": "generation", "answer": number, "text": text, "reason": "end", "cost": COST}
            events.append(event | {"confidence": confidence})
        return b"".join(json.dumps(each).encode() + b"\n" for each in [*events, {"event": "done"}])

    def fill(self, path: str, request: dict[str, Any]) -> bytes:
        if "sites" in request:
            return self.sites(request)
        if path == "/v1/rewrite":
            return self.rewrite(request)
        if path == "/v1/tokens":
            return self.tokens(request)
        if "gaps" not in request:
            return self.generation(request)
        canvas = {"event": "canvas", "gap": 0, "committed": "a", "canvas": [" +", None]}
        fills = [
            {
                "event": "fill",
                "gap": 0,
                "answer": number,
                "text": self.answer(request | {"seed": request.get("seed", 0) + number}),
                "reason": "line",
                "cost": COST,
            }
            for number in range(request.get("n", 1))
        ]
        return b"".join(json.dumps(each).encode() + b"\n" for each in (canvas, *fills, {"event": "done"}))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = stub.path is None
            wbufsize = -1  # head and body go in one piece

            def setup(self) -> None:
                super().setup()
                stub.connections.add(self.connection)

            def handle(self) -> None:
                with suppress(ConnectionError):  # who cancels a request closes its connection
                    super().handle()

            def finish(self) -> None:
                stub.connections.discard(self.connection)
                with suppress(OSError):
                    super().finish()

            def do_GET(self) -> None:
                if stub.proves and self.path.startswith("/v1/proof?"):
                    challenge = parse_qs(urlsplit(self.path).query)["challenge"][0]
                    message = f"dlsp engine\n{stub.address}\n{challenge}".encode()
                    right = hmac.new(stub.token.encode(), message, hashlib.sha256).hexdigest()
                    return self.reply(200, json.dumps({"proof": right}).encode())
                health = {"nonce": stub.nonce, "model": MODEL, "version": stub.version, "pid": os.getpid()}
                health |= {"dtype": "float32", "adapter": "none", "uptime_s": 3661.0, "requests": 2}
                health |= {"step": stub.step} if stub.step else {}
                self.reply(200, json.dumps(health | {"busy": False}).encode())

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
                if self.headers["Authorization"] != f"Bearer {stub.token}":
                    self.reply(401, b'{"error": "The token is wrong."}')
                elif self.path == "/v1/shutdown":
                    stub.forget()  # before the answer: who has it may ask at once whether there is an engine
                    self.reply(202, b"")
                    threading.Thread(target=stub.http.shutdown).start()
                else:
                    stub.clients.append(request.pop("client", None))
                    stub.requests.append(request)
                    while stub.hold.is_set():
                        if self.client_left():
                            return self.dropped(request)
                    more = stub.more.is_set()
                    self.begin(stub.status, stub.fill(self.path, request) if stub.raw is None else stub.raw)
                    while stub.more.is_set():
                        if self.client_left():
                            return self.dropped(request)
                        if stub.beats:
                            self.chunk(b"\n")
                            self.wfile.flush()
                    self.chunk((stub.raw or b"") if more else b"")
                    self.end()

            def dropped(self, request: dict[str, Any]) -> None:
                stub.dropped.append(request)
                self.close_connection = True

            def client_left(self) -> bool:
                readable, _, _ = select.select([self.connection], [], [], 0.01)
                return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

            def reply(self, status: int, body: bytes) -> None:
                self.begin(status, body)
                self.end()

            def begin(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.chunk(body)
                self.wfile.flush()

            def chunk(self, body: bytes) -> None:
                if body:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))

            def end(self) -> None:
                self.wfile.write(b"0\r\n\r\n")
                self.wfile.flush()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


class _UnixServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    if sys.platform != "win32":
        address_family = socket.AF_UNIX

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, _ = super().get_request()
        return connection, ("a process of this user", 0)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--state", type=Path, required=True)
    options.add_argument("--load", type=float, default=0)
    options.add_argument("--fail")
    options.add_argument("--version", default=__version__)
    options.add_argument("--unproved", action="store_true")
    options.add_argument("--tcp", action="store_true", default=sys.platform == "win32")
    args = options.parse_args()
    try:
        with FileLock(args.state / f"engine-{MODEL}.lock", timeout=0.5):  # a client may be looking at it
            print("loading the weights", file=sys.stderr, flush=True)
            time.sleep(args.load)
            if args.fail:
                sys.exit(args.fail)
            stub = StubEngine(args.state, args.version, args.tcp)
            stub.proves = not args.unproved
            with stub:
                stub.thread.join()
    except Timeout:
        sys.exit("Another engine has the lock.")


if __name__ == "__main__":
    main()
