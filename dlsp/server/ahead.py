"""Asking the engine: for the question that is there, and ahead of the next one, never in the way of typing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from lsprotocol import types
from pygls.uris import urlparse

from dlsp.completions import infill
from dlsp.completions.anchor import Anchor
from dlsp.completions.cache import CachedCompletion
from dlsp.completions.gate import gate
from dlsp.completions.types import SkipReason
from dlsp.errors import UserError
from dlsp.server.growing import Growing
from dlsp.server.moment import Moment, Silence
from dlsp.server.offer import Offer
from dlsp.server.server import Server

REST_S = 0.02
"""Seconds without a key after which the engine is asked before the editor asks, which waits longer than that."""
WARM_S = 0.15
"""Seconds without a key after which the prompt is read at a place where nothing is asked yet."""


def begin(server: Server, moment: Moment, priority: str = "typing", invoked: bool = False) -> Growing:
    """The answer that grows at this moment: the one that does already, else a new one. Raises Silence.

    `invoked`: the user asked for it by a key.
    """
    typing = moment.typing
    if growing := grows(moment):
        return growing
    typing.let_go()
    request = _request(server, moment, priority, invoked)
    engine = moment.link.engine
    if engine is None:
        raise Silence(moment.link.quiet)
    answer = CachedCompletion.between(moment.before, moment.after)
    typing.memory.add(answer)
    typing.growing = Growing(answer, request, engine, moment.link)
    return typing.growing


def grows(moment: Moment) -> Growing | None:
    """The answer that is being written and goes for this moment, too."""
    growing = moment.typing.growing
    if growing is None or growing.done or not growing.answer.remainder(moment.before, moment.after):
        return None
    return growing


def prefetch(server: Server, moment: Moment, made: Offer) -> None:
    """Ask what follows the suggestion that is shown, so that it is there when this one is accepted."""
    if not made.text:
        return
    typing, before = moment.typing, moment.before + made.text

    async def go() -> None:
        if typing.growing:
            await typing.growing.until(lambda: False)
        found = typing.memory.find(before, moment.after)
        over = found is None or (found[0].reason not in ("", "end") and not found[1].text)
        if over and _fits(moment, before):
            begin(server, _at(moment, before), "prefetch")

    if typing.ahead_of != before:
        typing.ahead_of = before
        _later(moment, go)


def warm(server: Server, moment: Moment) -> None:
    """The cursor may rest here: have the prompt read, if the session's anchor is another, so that typing is fast."""

    async def go() -> None:
        await asyncio.sleep(WARM_S)
        busy = moment.typing.growing and not moment.typing.growing.done
        if moment.link.engine and not busy and not _fits(moment, moment.before):
            request = _request(server, moment, "prefetch") | {"max_tokens": 1}
            await moment.link.engine.fill(request)

    _later(moment, go)


def changed(server: Server, uri: str, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
    """The document was edited: what grows is let go unless the edit agrees with it; soon the engine may be asked."""
    typing = server.typing(uri)
    typing.changed(changes, server.units)
    moment = None
    with suppress(Silence):
        moment = Moment.of(server, uri, typing.end) if typing.end else None
    if typing.growing and not typing.growing.done:
        answer = typing.growing.answer
        here = (moment.before, moment.after) if moment else None
        if here and (answer.remainder(*here) or answer.is_ahead_of(*here)):
            return
        typing.let_go()
    typing.later(None)
    if moment and typing.asking:
        _later(moment, partial(_rested, server, moment))


def rests(server: Server, uri: str, position: types.Position) -> None:
    """The editor says that the cursor is here."""
    with suppress(Silence):
        moment = Moment.of(server, uri, position)
        if moment.typing.asking and moment.mode != "off" and not server.snoozed:
            warm(server, moment)


def leave(server: Server, uri: str) -> None:
    """The editor cancelled its question: the engine stops, unless typing goes on."""
    typing = server.typing(uri)
    if typing.unasked == 0:
        typing.let_go()


async def _rested(server: Server, moment: Moment) -> None:
    await asyncio.sleep(REST_S)
    found = moment.typing.memory.find(moment.before, moment.after)
    known = found and (found[1].text.strip() or found[0].reason)
    if not known and not gate.switched(moment.mode, False, server.snoozed) and _asks(moment):
        begin(server, moment)


def _asks(moment: Moment) -> bool:
    return gate.asks(moment.facts(), moment.mode).quiet is None


def _request(server: Server, moment: Moment, priority: str, invoked: bool = False) -> dict[str, Any]:
    """What the engine is asked, with the anchor kept where the document still fits it. Raises Silence."""
    moment.link.make()
    if moment.link.engine is None:
        raise Silence(moment.link.quiet)
    typing, workspace = moment.typing, server.surroundings(moment.uri)
    anchor = typing.anchor
    middle = anchor.middle(moment.before, moment.after) if anchor else None
    if anchor is None or middle is None:
        if why := workspace.excludes(moment.path):
            raise Silence(SkipReason.IGNORED, why)
        context = workspace.context(moment.path, moment.before, moment.after, anchor.context if anchor else None)
        if not invoked and (quiet := gate.grounds(context)):
            raise Silence(quiet)
        typing.anchor = anchor = Anchor(moment.before, moment.after, context)
        middle = ""
    more: dict[str, Any] = {"priority": priority} if priority != "typing" else {}
    if quiet := server.quiet_since():
        more["quiet"] = quiet
    return infill.request(
        anchor.context,
        middle=middle,
        path=_path(server, moment),
        session=moment.uri,
        end=infill.end_rule(moment.before),
        mode=server.settings(moment.uri).mode,
        **more,
    )


def _path(server: Server, moment: Moment) -> str:
    """The document's path as its folder of the workspace sees it, else its name."""
    folder = server.folder(moment.uri)
    return moment.path.relative_to(folder).as_posix() if folder else PurePath(urlparse(moment.uri)[2]).name


def _fits(moment: Moment, before: str) -> bool:
    anchor = moment.typing.anchor
    return anchor is not None and anchor.middle(before, moment.after) is not None


def _at(moment: Moment, before: str) -> Moment:
    """The same moment with more before the cursor; its position is not known."""
    return replace(moment, before=before)


def _later(moment: Moment, work: Callable[[], Awaitable[None]]) -> None:
    """Do it in the background, in place of what else was to be done for the document; failures are the next
    question's to tell."""

    async def guarded() -> None:
        with suppress(Silence, UserError):
            await work()

    moment.typing.later(asyncio.create_task(guarded()))
