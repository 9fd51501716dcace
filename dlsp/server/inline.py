"""`textDocument/inlineCompletion`: every request ends in a suggestion or in a reason for quiet."""

import asyncio
import os
import time
import traceback
from urllib.parse import unquote

from lsprotocol import types

from dlsp import suggest
from dlsp.context.anchor import Anchor
from dlsp.engine.client import EngineGone
from dlsp.errors import UserError
from dlsp.quiet import Quiet
from dlsp.server.documents import Document
from dlsp.server.latest import Stale
from dlsp.server.server import Server

ANSWER_S = 30

Outcome = types.InlineCompletionItem | Quiet


async def inline_completion(server: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList:
    """One item, inserted at the cursor and replacing nothing, or none."""
    began = time.monotonic()
    note = ""
    try:
        outcome, note = await server.latest.run(params.text_document.uri, _answer(server, params))
    except Stale:
        outcome = Quiet.STALE
    except TimeoutError:
        outcome = Quiet.SLOW
    except asyncio.CancelledError:
        server.note("cancelled by the editor")
        raise
    except UserError as error:
        outcome, note = Quiet.FAILED, str(error)
    except Exception as error:
        # No message and no line of the error is logged: they might hold the document's text.
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome, note = Quiet.FAILED, f"{type(error).__name__} in {where.name}, line {where.lineno}"
    what = f"quiet: {outcome.value}" if isinstance(outcome, Quiet) else "a suggestion"
    took = f"{(time.monotonic() - began) * 1000:.0f} ms"
    server.note(", ".join(part for part in (what, note, took) if part))
    return types.InlineCompletionList([] if isinstance(outcome, Quiet) else [outcome])


async def _answer(server: Server, params: types.InlineCompletionParams) -> tuple[Outcome, str]:
    uri = params.text_document.uri
    document = server.workspace.text_documents.get(unquote(uri))
    if not isinstance(document, Document):
        return Quiet.UNKNOWN, ""
    cursor = document.cursor(params.position)
    if cursor is None:
        return Quiet.OUTSIDE, ""
    server.link.make()
    engine = server.link.engine
    if engine is None:
        return server.link.quiet, ""

    offset, position = cursor
    before, after = document.source[:offset], document.source[offset:]
    anchor, middle = _anchored(server.anchors.get(uri), before, after)
    server.anchors[uri] = anchor
    request = suggest.request(
        anchor.window,
        middle=middle,
        path=_path(server, document),
        session=uri,
        end=suggest.end_rule(before),
        mode=server.settings.mode,
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            fill = await engine.fill(request)
    except EngineGone:
        server.link.lost(engine)
        raise
    made = suggest.suggestion(fill, before, after)
    note = f"{len(made.text)} characters, {made.cost['tokens']} tokens, tau {made.cost['tau']:.2f}"
    return made.quiet or item(made.text, position), note


def item(text: str, position: types.Position) -> types.InlineCompletionItem:
    """`text` inserted at `position`. Without a range, VS Code would replace the rest of the line."""
    return types.InlineCompletionItem(text, range=types.Range(position, position))


def _anchored(anchor: Anchor | None, before: str, after: str) -> tuple[Anchor, str]:
    """The anchor to ask with and the middle typed since: the old one while it holds, else one made here."""
    middle = anchor.middle(before, after) if anchor else None
    return (anchor, middle) if anchor and middle is not None else (Anchor(before, after), "")


def _path(server: Server, document: Document) -> str:
    """The document's path as the project sees it."""
    root = server.workspace.root_path
    path = os.path.relpath(document.path, root) if root else ".."
    return os.path.basename(document.path) if path.startswith("..") else path
