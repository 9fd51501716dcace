"""`textDocument/inlineCompletion`: every request ends in a suggestion or in a reason for quiet."""

import asyncio
import logging
import time
import traceback
from pathlib import Path, PurePath
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path

from dlsp import suggest
from dlsp.context.anchor import Anchor
from dlsp.engine.client import EngineGone
from dlsp.errors import UserError
from dlsp.quiet import Quiet
from dlsp.server.documents import Document
from dlsp.server.latest import Stale
from dlsp.server.server import Server, document_path

log = logging.getLogger(__name__)

ANSWER_S = 4.0
"""Seconds after which the editor is told that there is nothing; what was prefilled stays for the next request."""

Outcome = types.InlineCompletionItem | Quiet


async def inline_completion(server: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList:
    """One item, inserted at the cursor and replacing nothing, or none."""
    began = time.monotonic()
    note = ""
    try:
        with server.status:
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
    if isinstance(outcome, Quiet):
        server.stay_quiet(outcome)
    what = f"quiet: {outcome.value}" if isinstance(outcome, Quiet) else "a suggestion"
    took = f"{(time.monotonic() - began) * 1000:.0f} ms"
    server.note(", ".join(part for part in (what, note, took) if part))
    return types.InlineCompletionList([] if isinstance(outcome, Quiet) else [outcome])


async def _answer(server: Server, params: types.InlineCompletionParams) -> tuple[Outcome, str]:
    until = asyncio.get_running_loop().time() + ANSWER_S
    uri = params.text_document.uri
    document = server.workspace.text_documents.get(unquote(uri))
    if not isinstance(document, Document):
        return Quiet.UNKNOWN, ""
    cursor = document.cursor(params.position)
    if cursor is None:
        return Quiet.OUTSIDE, ""
    settings, link = server.settings(uri), server.link(uri)
    link.make()
    engine = link.engine
    if engine is None:
        return link.quiet, ""

    offset, position = cursor
    before, after = document.source[:offset], document.source[offset:]
    server.notice(uri, position.line, edited=False)
    workspace, file = server.surroundings(uri), document_path(uri)
    anchor = server.anchors.get(uri)
    middle = anchor.middle(before, after) if anchor else None
    if anchor is None or middle is None:
        if why := workspace.excludes(file):
            return Quiet.IGNORED, why
        context = workspace.context(file, before, after, anchor.context if anchor else None)
        server.anchors[uri] = anchor = Anchor(before, after, context)
        middle = ""
    request = suggest.request(
        anchor.context,
        middle=middle,
        path=_path(server, document),
        session=uri,
        end=suggest.end_rule(before),
        mode=settings.mode,
    )
    if quiet := server.quiet_since():
        request["quiet"] = quiet
    try:
        async with asyncio.timeout_at(until):
            fill = await engine.fill(request)
    except EngineGone:
        link.lost(engine)
        raise
    except TimeoutError:
        link.doubt(engine)
        raise
    if settings.log == "text":
        log.info("asked %r, answered %r", request["gaps"][0], fill["text"])
    made = suggest.suggestion(fill, before, after, workspace.source(file))
    note = f"{len(made.text)} characters, {made.cost['tokens']} tokens, tau {made.cost['tau']:.2f}"
    return made.quiet or item(made.text, position), note


def item(text: str, position: types.Position) -> types.InlineCompletionItem:
    """`text` inserted at `position`. Without a range, VS Code would replace the rest of the line."""
    return types.InlineCompletionItem(text, range=types.Range(position, position))


def _path(server: Server, document: Document) -> str:
    """The document's path as its folder of the workspace sees it, else its name."""
    folder, path = server.folder(document.uri), to_fs_path(document.uri)
    if folder and path:
        return Path(path).relative_to(folder).as_posix()
    return PurePath(document.path).name
