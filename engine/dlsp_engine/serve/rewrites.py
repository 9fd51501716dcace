"""Parses and checks the bodies of `POST /v1/rewrite`."""

import math
from typing import Any

from dlsp_engine.errors import EngineError
from dlsp_engine.serve.requests import (
    Parsed,
    TooLarge,
    bounded,
    checked,
    client,
    files,
    gap_options,
    listed,
    priority,
    text,
    unicode,
)
from dlsp_engine.text.prompt import File
from dlsp_engine.text.rewrite import Rewrite

MAX_WINDOWS = 16
MAX_WINDOW_CHARACTERS = 16_000
MAX_DIAGNOSTICS = 64
MAX_MARGIN_NATS = 100.0
MODES = ("verified", "autoregressive")
OPTION_FIELDS = {"max_tokens", "mode", "schedule", "draft", "copy"}
FIELDS = {"files", "edits", "windows", "margin", "force", "priority", "client"} | OPTION_FIELDS
WINDOW_FIELDS = {"path", "text", "before", "keep", "diagnostics", "prefix", "suffix", "row", "cursor"}


def parse_rewrites(body: Any) -> Parsed[Rewrite]:
    """Return the checked body. Raises EngineError with one sentence that names the field and the values it takes."""
    checked(body, FIELDS)
    given, edits, margin = files(body, "files"), files(body, "edits"), _nats(body.get("margin", 0), "margin", 0)
    force = None if body.get("force") is None else _nats(body["force"], "force", -MAX_MARGIN_NATS)
    windows = tuple(_window(window, given, edits, margin, force) for window in listed(body, "windows"))
    if not 1 <= len(windows) <= MAX_WINDOWS:
        raise EngineError(f"'windows' must hold 1 to {MAX_WINDOWS} windows.")
    if any(max(len(window.text), len(window.before)) > MAX_WINDOW_CHARACTERS for window in windows):
        raise TooLarge(f"'text' and 'before' of a window hold at most {MAX_WINDOW_CHARACTERS} characters each.")
    texts = ((each.path, each.text, each.before, each.prefix, each.suffix, *each.diagnostics) for each in windows)
    bounded([part for each in texts for part in each], given + edits)
    chosen = gap_options(body)
    if chosen.mode not in MODES:
        raise EngineError(f"'mode' must be one of {', '.join(MODES)}.")
    return Parsed(windows, chosen, priority(body, "filling"), client(body))


def _window(raw: Any, given: tuple[File, ...], edits: tuple[File, ...], margin: float, force: float | None) -> Rewrite:
    checked(raw, WINDOW_FIELDS, "A window")
    keep = raw.get("keep", 0)
    if type(keep) is not int or keep < 0:
        raise EngineError("'keep' in 'windows' must be a number of lines.")
    row, cursor = raw.get("row", 0), raw.get("cursor")
    if type(row) is not int or row < 0:
        raise EngineError("'row' in 'windows' must be the number of the first line, counted from 0.")
    if cursor is not None and (type(cursor) is not int or cursor < 0):
        raise EngineError("'cursor' in 'windows' must be a place in 'text', in characters.")
    diagnostics = listed(raw, "diagnostics")
    if len(diagnostics) > MAX_DIAGNOSTICS or not all(isinstance(each, str) for each in diagnostics):
        raise EngineError(f"'diagnostics' of a window must hold at most {MAX_DIAGNOSTICS} texts.")
    return Rewrite(
        text(raw, "text", "windows"),
        text(raw, "before", "windows", ""),
        text(raw, "path", "windows", ""),
        keep,
        given,
        edits,
        tuple(unicode(each, "'diagnostics' of a window") for each in diagnostics),
        margin,
        force,
        text(raw, "prefix", "windows", ""),
        text(raw, "suffix", "windows", ""),
        row,
        cursor,
    )


def _nats(value: Any, name: str, least: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not least <= value <= MAX_MARGIN_NATS:
        raise EngineError(f"'{name}' must be a number from {least:g} to {MAX_MARGIN_NATS:g}.")
    return float(value)
