"""Parses and checks the bodies of `POST /v1/infill`."""

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

from dlsp_engine.errors import EngineError
from dlsp_engine.options import ENDS, Options
from dlsp_engine.site import Site
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.grammars import Grammars
from dlsp_engine.text.prompt import File, Gap
from dlsp_engine.text.rewrite import Rewrite

PRIORITIES = ("typing", "filling", "prefetch")
MAX_GAPS = 64
MAX_GAP_TOKENS = 1024
MAX_ANSWERS = 16  # to one gap
MAX_CHARACTERS = 400_000
MAX_SESSION_NAME_CHARACTERS = 4096
MAX_QUIET_REASONS = 32
MAX_CLIENT_CHARACTERS = 64
GAP_FIELDS = {"prefix", "suffix", "middle", "path", "session"}
OPTIONS = {field.name: field.default for field in fields(Options)}

Asked = TypeVar("Asked", Gap, Site, Generation, Rewrite)


class TooLarge(EngineError):
    """The request holds more text than is allowed."""


@dataclass(frozen=True)
class Parsed(Generic[Asked]):
    """The body of a request, after it was checked."""

    asked: tuple[Asked, ...]
    options: Options
    priority: int  # index into PRIORITIES: smaller goes first
    # Who asks: clients have equal shares, and sessions of their own.
    client: str = ""
    # Reasons for which the client stayed quiet since its last request, and how often.
    quiet: dict[str, int] = field(default_factory=dict)
    # How many answers each gap gets: number i is that of the seed `options.seed` + i.
    answers: int = 1


def parse(body: Any, grammars: Grammars | None = None) -> Parsed[Gap]:
    """Return the checked body; `grammars` compiles its constraint. Raises EngineError with one sentence that names the
    field and the values it takes.
    """
    checked(body, {"gaps", "files", "priority", "client", "quiet", "n"} | OPTIONS.keys())
    given = files(body, "files")
    gaps = tuple(_gap(gap, given) for gap in listed(body, "gaps"))
    if not 1 <= len(gaps) <= MAX_GAPS:
        raise EngineError(f"'gaps' must hold 1 to {MAX_GAPS} gaps.")
    bounded([text for gap in gaps for text in (gap.prefix, gap.suffix, gap.middle, gap.path)], given)
    default = "typing" if len(gaps) == 1 else "filling"
    chosen = gap_options(body, grammars)
    wanted = answers(body, chosen)
    if len(gaps) * wanted > MAX_GAPS:
        raise EngineError(f"'n' times the number of gaps must be at most {MAX_GAPS}.")
    return Parsed(gaps, chosen, priority(body, default), client(body), _quiet(body), wanted)


def checked(body: Any, fields: set[str], where: str = "The body") -> None:
    """Raise EngineError unless `body` is an object whose fields are all in `fields`."""
    if not isinstance(body, dict):
        raise EngineError(f"{where} must be a JSON object.")
    if unknown := body.keys() - fields:
        raise EngineError(f"Unknown field {ascii(min(unknown))[:80]}.")


def bounded(texts: list[str], files: tuple[File, ...]) -> None:
    """Raise TooLarge if the texts and files hold more than MAX_CHARACTERS characters together."""
    size = sum(map(len, texts)) + sum(len(file.path) + len(file.text) for file in files)
    if size > MAX_CHARACTERS:
        raise TooLarge(f"The request holds {size} characters; at most {MAX_CHARACTERS} are taken.")


def priority(body: dict[str, Any], default: str) -> int:
    value = body.get("priority", default)
    if not isinstance(value, str) or value not in PRIORITIES:
        raise EngineError(f"'priority' must be one of {', '.join(PRIORITIES)}.")
    return PRIORITIES.index(value)


def client(body: dict[str, Any]) -> str:
    value = body.get("client", "")
    if not isinstance(value, str) or len(value) > MAX_CLIENT_CHARACTERS:
        raise EngineError(f"'client' must be a text of at most {MAX_CLIENT_CHARACTERS} characters.")
    return unicode(value, "'client'")


def options(body: dict[str, Any], grammars: Grammars | None = None) -> Options:
    wanted = {name: body[name] for name in OPTIONS if name in body}
    if "constraint" in wanted:
        assert grammars, "the field is refused where there are none"
        wanted["constraint"] = grammars(wanted["constraint"])
        if wanted["constraint"].whole and body.get("end", "token") != "token":
            raise EngineError("'end' must be 'token' with a 'constraint' that says itself where the answer ends.")
    for name, value in wanted.items():
        if isinstance(OPTIONS[name], bool):
            truth(value, name)
        elif isinstance(OPTIONS[name], int) and isinstance(value, float):
            raise EngineError(f"'{name}' must be a whole number.")
    wanted["stop"] = tuple(listed(body, "stop"))
    return Options(**wanted)


def answers(body: dict[str, Any], options: Options) -> int:
    """Return how many answers are wanted. Raises EngineError if they could not differ."""
    value = body.get("n", 1)
    if type(value) is not int or not 1 <= value <= MAX_ANSWERS:
        raise EngineError(f"'n' must be a whole number from 1 to {MAX_ANSWERS}.")
    if value > 1 and options.temperature == 0:
        raise EngineError("'n' above 1 needs a 'temperature' above 0.")
    replace(options, seed=options.seed + value - 1)
    return value


def gap_options(body: dict[str, Any], grammars: Grammars | None = None) -> Options:
    """Return the options of gaps, sites or windows, whose answers are short."""
    chosen = options(body, grammars)
    if chosen.end not in ENDS:
        raise EngineError(f"'end' must be one of {', '.join(ENDS)}.")
    if chosen.max_tokens > MAX_GAP_TOKENS:
        raise EngineError(f"'max_tokens' must be a number from 1 to {MAX_GAP_TOKENS}.")
    return chosen


def truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise EngineError(f"'{name}' must be true or false.")
    return value


def _quiet(body: dict[str, Any]) -> dict[str, int]:
    quiet = body.get("quiet", {})
    if not isinstance(quiet, dict) or len(quiet) > MAX_QUIET_REASONS:
        raise EngineError(f"'quiet' must be an object of at most {MAX_QUIET_REASONS} reasons.")
    for reason, count in quiet.items():
        if not re.fullmatch("[a-z_]{1,24}", reason) or type(count) is not int or not 0 < count < 10**6:
            raise EngineError("'quiet' must hold reasons in lower case, and how often each was met.")
    return quiet


def _gap(raw: Any, files: tuple[File, ...]) -> Gap:
    checked(raw, GAP_FIELDS, "A gap in 'gaps'")
    return Gap(
        prefix=text(raw, "prefix", "gaps"),
        suffix=text(raw, "suffix", "gaps"),
        middle=text(raw, "middle", "gaps", ""),
        path=text(raw, "path", "gaps", ""),
        files=files,
        session=session(raw, "gaps"),
    )


def session(raw: dict[str, Any], where: str) -> str | None:
    value = raw.get("session")
    if value is not None and not (isinstance(value, str) and len(value) <= MAX_SESSION_NAME_CHARACTERS):
        raise EngineError(f"'session' in '{where}' must be a text of at most {MAX_SESSION_NAME_CHARACTERS} characters.")
    return value


def files(body: dict[str, Any], name: str) -> tuple[File, ...]:
    return tuple(_file(each, name) for each in listed(body, name))


def _file(raw: Any, where: str) -> File:
    checked(raw, {"path", "text"}, f"A file in '{where}'")
    return File(text(raw, "path", where), text(raw, "text", where))


def listed(body: dict[str, Any], name: str) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list):
        raise EngineError(f"'{name}' must be a list.")
    return value


def text(raw: dict[str, Any], name: str, where: str, default: str | None = None) -> str:
    value = raw.get(name, default)
    if not isinstance(value, str):
        raise EngineError(f"'{name}' in '{where}' must be a text.")
    return unicode(value, f"'{name}' in '{where}'")


def unicode(value: str, what: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise EngineError(f"{what} holds half a surrogate pair.") from error
    return value
