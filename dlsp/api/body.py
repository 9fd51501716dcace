"""The JSON object of a request, read tolerantly: fields that nobody asks for are ignored, and null counts as absent."""

import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Self, cast

from starlette.requests import Request

MAX_BODY_BYTES = 8 * 2**20
# An escape in JSON that may be half of a surrogate pair. Such a half is no character, and no answer can contain it.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Refused(Exception):
    """A request that is answered by an error: its HTTP status, one sentence, and the field that is wrong, if one is."""

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.field = status, sentence, field


class Body:
    """A JSON object. Each method returns one field's value, or its default; a value of another type raises Refused."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {name: value for name, value in fields.items() if value is not None}

    @classmethod
    async def of(cls, request: Request) -> Self:
        """The object in the request's body. Raises Refused."""
        encoding = request.headers.get("content-encoding", "identity")
        try:
            raw = await request.body() or b"{}"
            if encoding != "identity":
                raw = _unpacked(raw, encoding)
            parsed = json.loads(raw)
            if _SURROGATE.search(raw):
                parsed = _without_surrogates(parsed)
        except (ValueError, RecursionError):
            raise Refused(400, "The body is not valid JSON.") from None
        if not isinstance(parsed, dict):
            raise Refused(400, "The body must be a JSON object.")
        return cls(cast("dict[str, Any]", parsed))

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def text(self, name: str, default: str = "") -> str:
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            raise Refused(400, f"`{name}` must be a string.", name)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A string, or a list of strings."""
        value = self._fields.get(name, [])
        if isinstance(value, str):
            return (value,)
        values: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
        texts = tuple(each for each in values if isinstance(each, str))
        if len(texts) < len(values):
            raise Refused(400, f"`{name}` must be a string or a list of strings.", name)
        return texts

    def number(self, name: str, default: float, low: float = -math.inf, high: float = math.inf) -> float:
        """A number, from `low` to `high`."""
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Refused(400, f"`{name}` must be a number.", name)
        if not low <= value <= high:
            raise Refused(400, f"`{name}` must be from {low:g} to {high:g}.", name)
        return value

    def whole(self, name: str, default: int, low: int = -(2**53), high: int = 2**53) -> int:
        """A whole number, from `low` to `high`."""
        value = self.number(name, default, low, high)
        if value != int(value):
            raise Refused(400, f"`{name}` must be a whole number.", name)
        return int(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._fields.get(name, default)
        if not isinstance(value, bool):
            raise Refused(400, f"`{name}` must be true or false.", name)
        return value

    def inner(self, name: str) -> "Body":
        """An object, empty if absent."""
        return Body(self.inner_raw(name))

    def inner_raw(self, name: str) -> dict[str, Any]:
        """An object as it is, null values included; empty if absent."""
        value = self._fields.get(name, {})
        if not isinstance(value, dict):
            raise Refused(400, f"`{name}` must be an object.", name)
        return cast("dict[str, Any]", value)

    def each(self, name: str) -> "Iterator[Body]":
        """The objects of a list, empty if absent."""
        value = self._fields.get(name, [])
        values: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
        if not all(isinstance(each, dict) for each in values):
            raise Refused(400, f"`{name}` must be a list of objects.", name)
        return (Body(each) for each in values)

    def raw(self, name: str) -> Any:
        """The value as it is, None if absent."""
        return self._fields.get(name)


def _unpacked(raw: bytes, encoding: str) -> bytes:
    """A compressed body. Raises Refused."""
    if encoding != "gzip":
        raise Refused(415, "A compressed body is read in `gzip` only: send it so, or without `Content-Encoding`.")
    unpacking = zlib.decompressobj(wbits=31)  # gzip's format
    try:
        found = unpacking.decompress(raw, MAX_BODY_BYTES)
    except zlib.error:
        raise Refused(400, "The body is not valid gzip.") from None
    if unpacking.unconsumed_tail:
        raise Refused(413, f"The body is larger than {MAX_BODY_BYTES} bytes when it is unpacked.")
    if not unpacking.eof:
        raise Refused(400, "The body is cut off.")
    return found


def _without_surrogates(value: Any) -> Any:
    """A parsed JSON value with U+FFFD in place of lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {_without_surrogates(name): _without_surrogates(each) for name, each in fields.items()}
    return [_without_surrogates(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value
