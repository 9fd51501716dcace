"""`POST /v1/infill` bodies, checked."""

import re
from dataclasses import dataclass, fields
from typing import Any

from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import File, Gap

PRIORITIES = ("typing", "filling", "prefetch")
MOST_GAPS = 64
MOST_CHARACTERS = 400_000
MOST_NAME = 4096
MOST_QUIET = 32


class TooLarge(EngineError):
    """More text than is taken at once."""


@dataclass(frozen=True)
class InfillRequest:
    gaps: tuple[Gap, ...]
    options: Options
    priority: int  # index into PRIORITIES: smaller goes first
    quiet: dict[str, int]  # reasons for which the client stayed quiet since its last request, and how often


def parse(body: Any) -> InfillRequest:
    """Raises EngineError with one sentence that names the field and what it takes."""
    if not isinstance(body, dict):
        raise EngineError("The body must be a JSON object.")
    unknown = body.keys() - {"gaps", "files", "priority", "quiet"} - {field.name for field in fields(Options)}
    if unknown:
        raise EngineError(f"Unknown field {ascii(min(unknown))[:80]}.")
    files = tuple(File(_text(f, "path", "files"), _text(f, "text", "files")) for f in _list(body, "files"))
    gaps = tuple(_gap(gap, files) for gap in _list(body, "gaps"))
    if not 1 <= len(gaps) <= MOST_GAPS:
        raise EngineError(f"'gaps' must hold 1 to {MOST_GAPS} gaps.")
    size = sum(len(g.prefix) + len(g.suffix) + len(g.middle) for g in gaps) + sum(len(f.text) for f in files)
    if size > MOST_CHARACTERS:
        raise TooLarge(f"The request holds {size} characters; at most {MOST_CHARACTERS} are taken.")
    priority = body.get("priority", "typing")
    if not isinstance(priority, str) or priority not in PRIORITIES:
        raise EngineError(f"'priority' must be one of {', '.join(PRIORITIES)}.")
    wanted = {field.name: body[field.name] for field in fields(Options) if field.name in body}
    for name, default in ((field.name, field.default) for field in fields(Options)):
        if isinstance(default, bool) and not isinstance(wanted.get(name, default), bool):
            raise EngineError(f"'{name}' must be true or false.")
        if isinstance(default, int) and name in wanted and isinstance(wanted[name], float):
            raise EngineError(f"'{name}' must be a whole number.")
    wanted["stop"] = tuple(_list(body, "stop"))
    return InfillRequest(gaps, Options(**wanted), PRIORITIES.index(priority), _quiet(body))


def _quiet(body: dict[str, Any]) -> dict[str, int]:
    quiet = body.get("quiet", {})
    if not isinstance(quiet, dict) or len(quiet) > MOST_QUIET:
        raise EngineError(f"'quiet' must be an object of at most {MOST_QUIET} reasons.")
    for reason, count in quiet.items():
        if not re.fullmatch("[a-z_]{1,24}", reason) or type(count) is not int or not 0 < count < 10**6:
            raise EngineError("'quiet' must hold reasons in lower case, and how often each was met.")
    return quiet


def _gap(raw: Any, files: tuple[File, ...]) -> Gap:
    session = raw.get("session") if isinstance(raw, dict) else None
    if session is not None and not (isinstance(session, str) and len(session) <= MOST_NAME):
        raise EngineError(f"'session' in 'gaps' must be a text of at most {MOST_NAME} characters.")
    return Gap(
        prefix=_text(raw, "prefix", "gaps"),
        suffix=_text(raw, "suffix", "gaps"),
        middle=_text(raw, "middle", "gaps", ""),
        path=_text(raw, "path", "gaps", ""),
        files=files,
        session=session,
    )


def _list(body: dict[str, Any], name: str) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list):
        raise EngineError(f"'{name}' must be a list.")
    return value


def _text(raw: Any, name: str, where: str, default: str | None = None) -> str:
    if not isinstance(raw, dict):
        raise EngineError(f"'{where}' must hold objects.")
    value = raw.get(name, default)
    if not isinstance(value, str):
        raise EngineError(f"'{name}' in '{where}' must be a text.")
    if not _unicode(value):
        raise EngineError(f"'{name}' in '{where}' holds half a surrogate pair.")
    return value


def _unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
