import asyncio
import socket

import httpx
import pytest

from dlsp.api import peers
from dlsp.api.listener import listen
from dlsp.errors import UserError
from tests.dlsp.api.conftest import serving
from tests.dlsp.stub_engine import StubEngine

BODY = {"prompt": "a = "}


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://example.org"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-origin"}],
)
async def test_web_pages_stay_out(api: httpx.AsyncClient, stub: StubEngine, headers: dict[str, str]) -> None:
    assert (await api.post("/v1/completions", json=BODY, headers=headers)).status_code == 403
    assert stub.requests == []


async def test_nodes_fetch_is_let_in(api: httpx.AsyncClient) -> None:
    assert (await api.post("/v1/completions", json=BODY, headers={"Sec-Fetch-Mode": "cors"})).status_code == 200


@pytest.mark.parametrize("host", ["example.org", "example.org:80", "127.0.0.1.example.org", ""])
async def test_other_hosts_are_refused(api: httpx.AsyncClient, stub: StubEngine, host: str) -> None:
    assert (await api.post("/v1/completions", json=BODY, headers={"Host": host})).status_code == 403
    assert stub.requests == []


@pytest.mark.parametrize("host", ["localhost:8787", "0.0.0.0:1", "[::1]:8012", "127.0.0.1"])
async def test_names_of_this_machine(api: httpx.AsyncClient, host: str) -> None:
    assert (await api.post("/v1/completions", json=BODY, headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("header", [{"Authorization": "Bearer k3y"}, {"x-api-key": "k3y"}, {"api-key": "k3y"}])
async def test_the_key(stub: StubEngine, header: dict[str, str]) -> None:
    async with serving("k3y") as address, httpx.AsyncClient(base_url=address) as client:
        assert (await client.post("/v1/completions", json=BODY)).status_code == 401
        wrong = await client.post("/api/generate", json=BODY, headers={"Authorization": "Bearer other"})
        assert (wrong.status_code, list(wrong.json())) == (401, ["error"])
        assert (await client.get("/health")).status_code == 200
        assert stub.requests == []
        assert (await client.post("/v1/completions", json=BODY, headers=header)).status_code == 200


async def test_an_empty_bearer_is_no_key_and_none_is_needed(stub: StubEngine) -> None:
    async with serving() as address:  # as llama.vim sends it, which HTTP libraries refuse to
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        head = (
            "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \r\nContent-Length: 13\r\n\r\n"
        )
        writer.write(head.encode() + b'{"prompt":""}')
        assert (await reader.readline()).split()[1] == b"200"
        writer.close()


@pytest.mark.skipif(not peers.can_be_known(), reason="the peer's user is known on Linux alone")
async def test_a_program_of_the_same_user_is_answered(stub: StubEngine) -> None:
    async with serving(same_user=True) as address, httpx.AsyncClient(base_url=address) as client:
        assert (await client.post("/v1/completions", json=BODY)).status_code == 200


@pytest.mark.skipif(not peers.can_be_known(), reason="the peer's user is known on Linux alone")
async def test_a_program_of_another_user_is_not(stub: StubEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlsp.api.peers._owner", lambda ends: 54_321)
    async with serving(same_user=True) as address, httpx.AsyncClient(base_url=address) as client:
        assert (await client.post("/v1/completions", json=BODY)).status_code == 403
    assert stub.requests == []


def test_the_owner_of_a_connection_is_found_for_both_families() -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as listener:
            try:
                listener.bind((host, 0))
            except OSError:
                continue  # no IPv6 here
            listener.listen()
            with socket.create_connection(listener.getsockname()[:2]):
                taken, _ = listener.accept()
                with taken:
                    assert peers.same_user(taken)


def test_a_taken_port_is_refused() -> None:
    (first, *others) = listen("127.0.0.1", [0])
    with first, pytest.raises(UserError, match="taken by another program"):
        listen("127.0.0.1", [first.getsockname()[1]])
    for each in others:
        each.close()


async def test_a_huge_body(api: httpx.AsyncClient, stub: StubEngine) -> None:
    answer = await api.post("/v1/completions", content=b"{" + b" " * 9 * 2**20)
    assert answer.status_code == 413
    assert stub.requests == []
