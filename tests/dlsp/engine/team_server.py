"""A small team's server on loopback: the engine's interface below `/engine/MODEL`, over TLS if it has a certificate."""

import asyncio
import json
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dlsp.engine.versions import API

FILL = {"event": "fill", "gap": 0, "answer": 0, "text": "from the server", "reason": "stop", "confidence": []}


class TeamServer:
    """Answers each infill with FILL for requests with `token`. `requests` holds the bodies, `heads` the headers of all
    that was asked, refused ones too."""

    def __init__(self, token: str, certificate: Path | None = None, key: Path | None = None, port: int = 0) -> None:
        self.token, self.api = token, API
        self.requests: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        routes = [
            Route("/engine/{model}/health", self._health),
            Route("/engine/{model}/v1/infill", self._infill, methods=["POST"]),
        ]
        self._scheme = "https" if certificate else "http"
        self._server = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes),
                port=port,
                log_level="critical",
                ssl_certfile=certificate and str(certificate),
                ssl_keyfile=key and str(key),
            )
        )
        self._socket = self._server.config.bind_socket()
        self._socket.listen(16)  # connections wait until the thread serves them
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def _refusal(self, request: Request) -> Response | None:
        self.heads.append(dict(request.headers))
        right = request.headers.get("authorization") == f"Bearer {self.token}"
        return None if right else JSONResponse({"error": "The token is wrong."}, 401)

    async def _health(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse({"api": self.api})

    async def _infill(self, request: Request) -> Response:
        if refusal := self._refusal(request):
            return refusal
        self.requests.append(await request.json())
        lines = [json.dumps(each) for each in (FILL, {"event": "done"})]
        return Response("\n".join(lines) + "\n", media_type="application/x-ndjson")


def certificate(folder: Path) -> tuple[Path, Path]:
    """A new certificate for 127.0.0.1, signed by itself, and its key."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key
