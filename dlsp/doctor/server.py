"""Checks of the team's servers for which the user has a token: whether each can be used, and when text goes there."""

import asyncio
import time

from dlsp.doctor.check import Check
from dlsp.engine import remote
from dlsp.engine.remote import Server, ServerAway
from dlsp.errors import UserError


async def checks() -> list[Check]:
    """A check for each server with a token in the environment or the file; empty without one."""
    try:
        known = await asyncio.to_thread(remote.known)
    except UserError as error:
        return [Check("server", False, str(error))]
    if (chosen := remote.environment_url()) and chosen not in known:
        known = [chosen, *known]
    return [await _check(url, chosen) for url in known]


def when(url: str, chosen: str) -> str:
    """When text goes to the server at `url`; `chosen` is the one that the environment names."""
    by = remote.SERVER_VARIABLE if url == chosen else "an editor's setting `server`"
    return f"text goes to {url} " + ("by" if url == chosen else "only by") + f" {by}"


async def _check(url: str, chosen: str) -> Check:
    data = {"chosen": url == chosen}
    began = time.perf_counter()
    try:
        token = await asyncio.to_thread(remote.token, url)
        engine = await remote.connect(Server(url), token)
        async with engine:
            took_ms = 1e3 * (time.perf_counter() - began)
    except ServerAway as error:
        return Check("server", False, f"{when(url, chosen)}: {error}", data=data)
    except UserError as error:
        return Check("server", False, str(error), data=data)
    return Check("server", True, f"{when(url, chosen)}; it answers in {took_ms:.0f} ms", data=data)
