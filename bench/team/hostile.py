"""A hostile user beside others: wrong and revoked tokens, others' session names, floods, giant prompts."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import httpx

from bench.team.serving import Serving

PATH = "/engine/auto/v1/infill"
PAUSE_S = 0.1  # between two requests of a kind, so that what is measured is the server and not who asks
AT_ONCE = 12  # requests of the flood, more than a user may have
# Characters: more than one request may have; more tokens than a prompt may have; some that take an engine minutes.
GIANTS = (400_000, 240_000, 90_000)
LINE = "total = total + value * 3\n"


class Hostile:
    """What one hostile user does until cancelled. `answered` counts the status of each answer, by what was tried."""

    def __init__(self, server: Serving, token: str, label: str) -> None:
        self._server, self._token, self._label = server, token, label
        self.answered: Counter[tuple[str, int]] = Counter()

    async def attack(self) -> None:
        kinds: list[Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]]
        kinds = [self._wrong_tokens, self._others_sessions, self._giants, *[self._floods] * AT_ONCE]
        async with httpx.AsyncClient(base_url=self._server.url, timeout=60) as http, asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(kind(http))

    async def _wrong_tokens(self, http: httpx.AsyncClient) -> None:
        while True:
            for name, token in (("wrong token", "dlsp_wrong"), ("revoked token", self._server.revoked)):
                await self._ask(http, name, "x = ", token)

    async def _others_sessions(self, http: httpx.AsyncClient) -> None:
        number = 0
        while True:
            number = (number + 1) % 8
            await self._ask(http, "other's session", LINE, self._token, session=f"{self._label} {number}")

    async def _giants(self, http: httpx.AsyncClient) -> None:
        while True:
            for size in GIANTS:
                text = LINE * (size // len(LINE))
                waiting = asyncio.create_task(self._ask(http, f"{size} characters", text, self._token))
                await asyncio.wait([waiting], timeout=5)
                waiting.cancel()

    async def _floods(self, http: httpx.AsyncClient) -> None:
        while True:
            await self._ask(http, "flood", LINE, self._token, max_tokens=64)

    async def _ask(
        self, http: httpx.AsyncClient, name: str, text: str, token: str, session: str = "hostile", max_tokens: int = 16
    ) -> None:
        gap = {"prefix": text, "suffix": "\n", "session": session}
        body = {"gaps": [gap], "max_tokens": max_tokens, "client": f"{len(self.answered)}"}
        try:
            answer = await http.post(PATH, json=body, headers={"Authorization": f"Bearer {token}"})
            self.answered[name, answer.status_code] += 1
        except httpx.HTTPError:
            self.answered[name, 0] += 1
        await asyncio.sleep(PAUSE_S)
