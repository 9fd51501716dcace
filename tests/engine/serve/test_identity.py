"""Who may ask the engine, and how it shows who it is."""

import hmac
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from dlsp_engine.serve.app import Service
from tests.engine.serve.conftest import asking

CHALLENGE = "5a" * 32
ASK = """
import os, socket, sys
os.setgroups([])
os.setuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as asking:
    asking.settimeout(10)
    asking.connect(sys.argv[1])
    try:
        asking.sendall(b"GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer secret\\r\\n\\r\\n")
        print(asking.recv(100))
    except ConnectionError:
        print(b"")
"""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user")
def test_another_users_process_is_not_answered(served: str, service: Service) -> None:
    """Not even where the folder lets it reach the socket, and with the token."""
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        os.link(served.removeprefix("unix:"), path := f"{open_to_all}/engine.sock")
        Path(path).chmod(0o666)
        said = {uid: subprocess.check_output([sys.executable, "-c", ASK, path, uid]) for uid in ("0", "65534")}
    assert b"200 OK" in said["0"]
    assert said["65534"] == b"b''\n"


@pytest.mark.parametrize("tcp", [False, True])
def test_the_engine_proves_that_it_knows_the_token(client: httpx.Client, served: str, tcp: bool) -> None:
    with asking(served, token="wrong") as anybody:
        answer = anybody.get("/v1/proof", params={"challenge": CHALLENGE})
    message = f"dlsp engine\n{served}\n{CHALLENGE}".encode()
    assert answer.json() == {"proof": hmac.digest(b"secret", message, "sha256").hex()}
    assert "secret" not in answer.text


@pytest.mark.parametrize("challenge", [None, "", "5a", "5A" * 32, "g" * 64, "0" * 65, "0" * 64 + "\n"])
def test_what_is_no_challenge_is_refused(client: httpx.Client, challenge: str | None) -> None:
    answer = client.get("/v1/proof", params={"challenge": challenge} if challenge is not None else {})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("tcp", [True])
def test_a_browser_gets_no_proof(client: httpx.Client) -> None:
    for header in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        refused = client.get("/v1/proof", params={"challenge": CHALLENGE}, headers=header)
        assert refused.status_code in (400, 403)
        assert "proof" not in refused.json()


@pytest.mark.parametrize("tcp", [True])
def test_a_port_serves_this_machine_alone(client: httpx.Client, served: str) -> None:
    assert client.get("/health").json()["nonce"] == "nonce"
    with socket.socket() as outside, pytest.raises(OSError, match="refused"):
        outside.connect(("127.0.0.2", int(served.rpartition(":")[2])))
