"""The calls of functions in a model's answer, and the text beside them.

Qwen's chat template asks for `<tool_call>`, a JSON object and `</tool_call>`. Small models often write the object
alone, or in a fence: an answer that is nothing but such objects counts, too, if they name functions that were offered.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, cast

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_BLOCK = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|\Z)", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_LIST = re.compile(r"<tools>(.*?)(?:</tools>|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """A call of a function by its name; `arguments` is a JSON object."""

    name: str
    arguments: dict[str, Any]

    @property
    def json(self) -> str:
        """Its arguments as JSON."""
        return json.dumps(self.arguments, ensure_ascii=False)


class CallReader:
    """Separates the text of a growing answer from its calls. `names` are the functions that may be called; without any,
    everything is text. Calls above `most` are left out."""

    def __init__(self, names: Collection[str], most: int | None = None) -> None:
        self._names, self._most = names, most
        self._sent, self._called = "", 0

    def read(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """What is surely new in the whole text so far: more text, and calls."""
        if not self._names:
            return self._new(text, ())
        closed = text.rfind(CLOSE)
        calls = split(text[: closed + len(CLOSE)], self._names)[1] if closed >= 0 else ()
        return self._new(text[: self._settled(text)], calls)

    def end(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """What is new in the finished text."""
        return self._new(*split(text, self._names))

    def _new(self, content: str, calls: tuple[Call, ...]) -> tuple[str, tuple[Call, ...]]:
        new, more = content[len(self._sent) :], calls[self._called : self._most]
        self._sent, self._called = self._sent + new, max(self._called, len(calls))
        return new, more

    def _settled(self, text: str) -> int:
        """How much of the text is text, whatever follows."""
        begin = text.lstrip()
        if not begin or _may_be_calls(begin):
            return 0
        opened = text.find(OPEN)
        if opened < 0:
            opened = next((len(text) - n for n in range(len(OPEN) - 1, 0, -1) if text.endswith(OPEN[:n])), len(text))
        return len(text[:opened].rstrip())


def split(text: str, names: Collection[str]) -> tuple[str, tuple[Call, ...]]:
    """The text beside the calls of a finished answer, and the calls. What is not a well-formed call is text."""
    if not names:
        return text, ()
    if bare := _bare(text, names):
        return "", bare
    calls: list[Call] = []
    kept: list[str] = []
    at = 0
    for block in _BLOCK.finditer(text):
        if found := _calls(block[1]):
            calls += found
            kept.append(text[at : block.start()])
            at = block.end()
    if not calls:
        return text, ()
    first, *others = *kept, text[at:]
    parts = (first.rstrip(), *(each.strip() for each in others))
    return "\n".join(each for each in parts if each), tuple(calls)


def _may_be_calls(begin: str) -> bool:
    """Whether an answer that begins so may turn out to be nothing but calls."""
    if begin[0] in "{[":
        return True
    line, whole, _ = begin.partition("\n")
    return any(
        opening.startswith(line) if not whole else line.rstrip() == opening or opening == "<tools>" == line[:7]
        for opening in ("```", "```json", "<tools>")
    )


def _bare(text: str, names: Collection[str]) -> tuple[Call, ...]:
    """The calls of an answer that is nothing else; none if it is not."""
    text = text.strip()
    for form in (_FENCE, _LIST):
        if (found := form.findall(text)) and not form.sub("", text).strip():
            text = "\n".join(found)
    calls = _calls(text)
    return calls if all(call.name in names for call in calls) else ()


def _calls(text: str) -> tuple[Call, ...]:
    """The calls that JSON objects, one behind the other or in a list, describe; none unless all of them do."""
    decoder, at, values = json.JSONDecoder(), 0, list[Any]()
    text = text.strip()
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values += cast("list[Any]", value) if isinstance(value, list) else [value]
            at += len(text[at:]) - len(text[at:].lstrip())
    except (ValueError, RecursionError):
        return ()
    calls = [_call(value) for value in values]
    return tuple(call for call in calls if call) if all(calls) else ()


def _call(value: Any) -> Call | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    name, arguments = fields.get("name"), fields.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return Call(name, cast("dict[str, Any]", arguments))
