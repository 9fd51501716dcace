"""What may be set, and by whom."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dlsp.completions.gate.gate import MODES as MANNERS
from dlsp.completions.infill import MODES
from dlsp.context.budget import TOKENS, within_bounds
from dlsp.errors import UserError
from dlsp.ignore.patterns import is_pattern
from dlsp.models.catalogue import Model
from dlsp.models.sizing import AUTO, CONTEXT_TOKENS, default_context, named

LOGS = ("plain", "text")
EVERYWHERE = "*"


@dataclass(frozen=True)
class Settings:
    """`log` set to `text` lets suggestions and the text around them into the log file.

    `suggest` says how eagerly suggestions come, by language identifier, `*` for the others.
    `ignore` are globs as in `.gitignore` of files that are never read; `context` is the budget in tokens, where nobody
    set it what suits the model and the machine. `threads` are those of an engine that is started, 0 for what suits the
    machine; its weights have the infill update added unless `infill_update` is false.
    """

    model: Model = field(default_factory=lambda: named(AUTO))
    mode: str = "verified"
    log: str = "plain"
    suggest: tuple[tuple[str, str], ...] = ((EVERYWHERE, "auto"),)
    ignore: tuple[str, ...] = ()
    context: int = CONTEXT_TOKENS[-1]
    threads: int = 0
    infill_update: bool = True

    def suggests(self, language: str) -> str:
        """`auto`, `eager`, `manual` or `off`."""
        table = dict(self.suggest)
        return table.get(language, table[EVERYWHERE])


def _one_of(name: str, allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise UserError(f"There is no {name} '{str(value)[:40]}': use one of {', '.join(allowed)}.")
        return value

    return read


def _suggest(value: Any) -> tuple[tuple[str, str], ...]:
    """One mode for all languages, or a table of them."""
    one = _one_of("way to suggest", MANNERS)
    table = {EVERYWHERE: value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise UserError("`suggest` is one of {}, or a table of them by language.".format(", ".join(MANNERS)))
    return tuple({EVERYWHERE: "auto", **{str(name): one(mode) for name, mode in table.items()}}.items())


def _globs(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise UserError('`ignore` is a list of globs: for example ["private/", "*.sql"].')
    return tuple(value)


def _budget(value: Any) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UserError(f"`context` is a number of tokens: for example {TOKENS}.")
    return within_bounds(int(value))


def _threads(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 256:
        raise UserError("`threads` is a number from 0, for what suits the machine, to 256.")
    return value


def _infill_update(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError("`infill_update` is true, or false for the model as it was published.")
    return value


READERS: dict[str, Callable[[Any], Any]] = {
    "model": lambda value: named(str(value)[:40]),
    "mode": _one_of("mode", MODES),
    "suggest": _suggest,
    "log": _one_of("log", LOGS),
    "ignore": _globs,
    "context": _budget,
    "threads": _threads,
    "infill_update": _infill_update,
}
PROJECT = frozenset({"model", "mode", "ignore"})
"""What a project's file may set: nothing that a project could harm its reader with."""


def settings(layers: Iterable[Mapping[str, Any]]) -> tuple[Settings, list[str]]:
    """Settings from layers, the later the stronger, and a sentence for each value that could not be used.

    Null means unset. Names that are not known are passed over. Of `ignore`, the globs that are none are left out and
    the others stand: what they exclude is not to be read for a slip beside them.
    """
    made, complaints = Settings(context=0), []
    for layer in layers:
        for name, value in layer.items():
            if value is None or name not in READERS:
                continue
            try:
                read = READERS[name](value)
                # What one layer excludes, none lets in.
                made = replace(made, **{name: made.ignore + read if name == "ignore" else read})
            except UserError as error:
                complaints.append(str(error))
    refused = [glob for glob in made.ignore if not is_pattern(glob)]
    complaints += [f"`ignore` cannot use '{glob[:40]}', which is no pattern of .gitignore." for glob in refused]
    made = replace(made, ignore=tuple(filter(is_pattern, made.ignore)))
    return (made if made.context else replace(made, context=default_context(made.model))), complaints
