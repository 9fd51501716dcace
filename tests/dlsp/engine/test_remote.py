"""A team's server in the place of the engine: who is asked, with which token, and who answers while it is away."""

import asyncio
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dlsp import cli
from dlsp.completions.generation import connection_for
from dlsp.engine import remote
from dlsp.engine.connection import EngineConnection, EnginePool, NotReady, SilentListener, Unavailable
from dlsp.engine.remote import Server, ServerAway
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from dlsp.models.store import ModelMissing
from dlsp.settings.schema import Settings
from tests.dlsp.engine.team_server import FILL, TeamServer, certificate
from tests.dlsp.stub_engine import StubEngine

TOKEN = "dlsp_abc"


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch, state_folder: Path) -> None:
    for name in (remote.SERVER_VARIABLE, remote.TOKEN_VARIABLE, remote.TOKENS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", None)  # nobody's real one is asked


@pytest.fixture
def server() -> Iterator[TeamServer]:
    with TeamServer(TOKEN) as running:
        yield running


class RecordingListener(SilentListener):
    def __init__(self) -> None:
        self.destinations: list[str] = []
        self.sentences: list[str] = []

    def engine_ready(self, destination: str) -> None:
        self.destinations.append(destination)

    def engine_failed(self, sentence: str, is_new: bool) -> None:
        self.sentences.append(sentence)


def store(url: str, token: str = TOKEN) -> Path:
    file = remote.tokens_file()
    file.write_text(f"# servers\n{url} {token}\n")
    file.chmod(0o600)
    return file


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


async def ask(connection: EngineConnection) -> list[str]:
    """The texts of the fills that answer a request."""
    async with aclosing(connection.infill({"gaps": [{"prefix": "planted"}]})) as events:
        return [event["text"] async for event in events if event["event"] == "fill"]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", ""),
        ("https://dlsp.example.org/", "https://dlsp.example.org"),
        ("https://DLSP.example.org:8443/team/", "https://dlsp.example.org:8443/team"),
        ("http://127.0.0.1:8788", "http://127.0.0.1:8788"),
        ("http://[::1]:8788", "http://[::1]:8788"),
    ],
)
def test_an_address_has_one_form(given: str, read: str) -> None:
    assert remote.address(given) == read


@pytest.mark.parametrize(
    "given",
    [
        3,
        "dlsp.example.org",
        "http://dlsp.example.org",
        "http://127.0.0.1.example.org",
        "ftp://dlsp.example.org",
        "https://ada:word@dlsp.example.org",
        "https://dlsp.example.org?x=1",
        "https://dlsp.example.org:99999",
        "https://",
        "https://a b",
        "https://a\nb",
    ],
)
def test_another_address_is_refused(given: object) -> None:
    with pytest.raises(UserError, match="`server`"):
        remote.address(given)


async def test_the_server_answers_with_the_token_of_the_file(server: TeamServer) -> None:
    store(server.url)
    told = RecordingListener()
    connection = EngineConnection(DEFAULT, told, server=Server(server.url))
    connection.local_if_away = False
    assert await connection.ready()
    assert await ask(connection) == [FILL["text"]]
    assert told.destinations == [f"the server 127.0.0.1:{server.port}"]
    assert server.requests[0]["gaps"] == [{"prefix": "planted"}]
    assert {each["authorization"] for each in server.heads} == {f"Bearer {TOKEN}"}
    await connection.close()


async def test_nothing_goes_to_a_server_without_a_token_of_its_own(server: TeamServer) -> None:
    store("https://dlsp.example.org")
    connection = EngineConnection(DEFAULT, SilentListener(), server=Server(server.url))
    connection.local_if_away = False
    assert not await connection.ready()
    assert connection.unavailable is Unavailable.AWAY
    assert f"There is no token for {server.url}" in connection.reason
    with pytest.raises(NotReady, match="There is no token"):
        await ask(connection)
    assert server.heads == []


def test_the_environments_token_is_for_the_environments_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(remote.TOKEN_VARIABLE, TOKEN)
    with pytest.raises(UserError, match="There is no token"):
        remote.token("https://thief.example.org")
    monkeypatch.setenv(remote.SERVER_VARIABLE, "https://dlsp.example.org/")
    assert remote.token("https://dlsp.example.org") == TOKEN
    assert remote.known() == ["https://dlsp.example.org"]
    with pytest.raises(UserError, match="There is no token"):
        remote.token("https://thief.example.org")


def test_the_keyring_is_asked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the library's interface; a system's keyring is not at hand in tests."""
    entries = {(remote.KEYRING_SERVICE, "https://dlsp.example.org"): "dlsp_ring"}
    ring = SimpleNamespace(get_password=lambda service, name: entries.get((service, name)))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert remote.token("https://dlsp.example.org") == "dlsp_ring"
    store("https://dlsp.example.org")
    assert remote.token("https://dlsp.example.org") == TOKEN


@pytest.mark.parametrize("mode", [0o644, 0o620])
def test_a_file_that_others_can_use_is_refused(mode: int) -> None:
    file = store("https://dlsp.example.org")
    file.chmod(mode)
    with pytest.raises(UserError, match="chmod 600"):
        remote.token("https://dlsp.example.org")


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl to make a certificate")
async def test_the_certificate_is_checked_before_the_token_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, key = certificate(tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with TeamServer(TOKEN, made, key) as server:
        with pytest.raises(ServerAway, match="its certificate is not valid: self-signed certificate"):
            await remote.connect(Server(server.url), TOKEN)
        assert server.heads == []
        monkeypatch.setenv("SSL_CERT_FILE", str(made))
        async with await remote.connect(Server(server.url), TOKEN) as engine:
            assert (await engine.fill({"gaps": [{}]}))["text"] == FILL["text"]


@pytest.mark.parametrize(("token", "said"), [("dlsp_old", "refuses your token"), (TOKEN, "different versions")])
async def test_why_a_server_cannot_be_used_is_said(server: TeamServer, token: str, said: str) -> None:
    server.api = 99
    with pytest.raises(ServerAway, match=said):
        await remote.connect(Server(server.url), token)


async def test_while_it_is_away_the_local_engine_answers_and_then_the_server_again(stub: StubEngine) -> None:
    port = free_port()
    store(f"http://127.0.0.1:{port}")
    now, told = [0.0], RecordingListener()
    connection = EngineConnection(DEFAULT, told, clock=lambda: now[0], server=Server(f"http://127.0.0.1:{port}"))
    assert await connection.ready()
    assert await ask(connection) == ["a + b"]
    with TeamServer(TOKEN, port=port):
        now[0] = 31
        assert await ask(connection) == ["a + b"]  # while the server is asked whether it is there again
        async with asyncio.timeout(20):
            while len(told.destinations) < 2:
                await asyncio.sleep(0.01)
        assert await ask(connection) == [FILL["text"]]
    assert told.destinations == ["this machine", f"the server 127.0.0.1:{port}"]
    with pytest.raises(UserError):
        await ask(connection)  # the request that notices that the server is gone
    assert await connection.ready()
    assert await ask(connection) == ["a + b"]
    await connection.close()


async def test_without_an_engine_here_it_is_quiet_with_the_servers_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async def missing(*_: Any, **__: Any) -> Any:
        raise ModelMissing("It is not here", "pull it")

    monkeypatch.setattr("dlsp.engine.launch.start", missing)
    store("http://127.0.0.1:9")
    connection = EngineConnection(DEFAULT, told := RecordingListener(), server=Server("http://127.0.0.1:9"))
    assert not await connection.ready()
    assert connection.unavailable is Unavailable.AWAY
    assert told.sentences == [connection.reason]
    assert connection.reason.startswith("The server http://127.0.0.1:9 cannot be used: it does not answer")


async def test_the_setting_chooses_the_server(server: TeamServer, monkeypatch: pytest.MonkeyPatch) -> None:
    store(server.url)
    engines = EnginePool(SilentListener())
    connection = connection_for(Settings(server=server.url, server_away="quiet"), engines)
    assert not connection.local_if_away
    assert await connection.ready()
    assert await ask(connection) == [FILL["text"]]
    assert connection_for(Settings(), engines) is not connection
    monkeypatch.setenv(remote.SERVER_VARIABLE, server.url)
    assert connection_for(Settings(), engines) is connection
    await engines.close()


def test_doctor_and_status_say_where_text_goes(
    server: TeamServer, stub: StubEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dlsp.models.store.verify", lambda model: Path("/models/file.gguf"))
    store(server.url)
    assert cli.main(["doctor"]) == 0
    assert f"text goes to {server.url} only by an editor's setting `server`; it answers in" in capsys.readouterr().out
    cli.main(["status"])
    assert f"text goes to {server.url} only by an editor's setting `server`\n" in capsys.readouterr().out
    store(server.url, "dlsp_revoked")
    assert cli.main(["doctor"]) == 1
    assert "refuses your token" in capsys.readouterr().out
