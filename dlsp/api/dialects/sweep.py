"""Sweep's own server for next edits: `/backend/next_edit_autocomplete`."""

import time
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dlsp.api.answer import Options
from dlsp.api.body import Body, Refused
from dlsp.api.edits import Edit
from dlsp.api.wire import Service, new_id
from dlsp.syntax.difference import difference

PATH = "/backend/next_edit_autocomplete"
# The region that may change: so many lines above the cursor's and below it.
LINES_ABOVE, LINES_BELOW = 2, 5
MAX_TOKENS = 1024


@dataclass(frozen=True)
class Region:
    """Whole lines of a text, from the character `start` to `end`, without the line end at their end."""

    text: str
    start: int
    end: int


async def next_edit(service: Service, body: Body, request: Request) -> Response:
    """Answer with what to write in place of a range of the file. No edit is an empty text for an empty range."""
    began = time.monotonic()
    text, path = body.text("file_contents"), body.text("file_path")
    in_bytes = body.flag("use_bytes")
    at = _characters(text, body.whole("cursor_position", 0, 0), in_bytes)
    region = region_of(text, at)
    chunks = [each for name in ("file_chunks", "retrieval_chunks") for each in body.each(name)]
    snippets = tuple((each.text("file_path"), each.text("content")) for each in chunks)
    asked = Edit(path, text[: region.start], region.text, text[region.end :], body.text("recent_changes"), snippets)
    new = await service.editor.written(asked, Options(MAX_TOKENS))
    start, end, written = change(region, new.region)
    if not written and start == end:
        start = end = at
    found: dict[str, Any] = {
        "autocomplete_id": new_id("edit"),
        "start_index": _units(text[:start], in_bytes),
        "end_index": _units(text[:end], in_bytes),
        "completion": written,
        "confidence": round(new.confidence, 4),
    }
    told = {"elapsed_time_ms": round((time.monotonic() - began) * 1000), "finish_reason": "stop"}
    several = {"completions": [found]} if body.flag("multiple_suggestions") else {}
    return JSONResponse(found | told | several, media_type="application/x-ndjson")


def region_of(text: str, at: int) -> Region:
    """The lines around the cursor's."""
    first = text.count("\n", 0, at)
    lines = text.split("\n")
    above = max(0, first - LINES_ABOVE)
    start = sum(len(line) + 1 for line in lines[:above])
    region = "\n".join(lines[above : first + LINES_BELOW + 1])
    return Region(region, start, start + len(region))


def change(region: Region, new: str) -> tuple[int, int, str]:
    """The range of the file that differs, and what is there in the new region. An empty text would mean no edit, so
    where text only goes, the range has a character more, which is written again."""
    start, old_end, new_end = difference(region.text, new)
    if start == new_end < old_end:
        start, old_end, new_end = (start - 1, old_end, new_end) if start else (start, old_end + 1, new_end + 1)
    return region.start + start, region.start + old_end, new[start:new_end]


def _characters(text: str, position: int, in_bytes: bool) -> int:
    """A position in the text that is given in characters or in bytes of UTF-8, in characters. Raises Refused."""
    size = _units(text, in_bytes)
    if position > size:
        raise Refused(
            400, f"`cursor_position` must be at most {size}, the length of `file_contents`.", "cursor_position"
        )
    return len(text.encode()[:position].decode(errors="ignore")) if in_bytes else position


def _units(text: str, in_bytes: bool) -> int:
    return len(text.encode()) if in_bytes else len(text)
