"""The settings: one attrs field each, from which validation and the JSON Schema are derived."""

# ruff: noqa: RUF009 - `_setting` is a field

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import attrs

from dlsp.context.tokens import DEFAULT_TOKENS, within_bounds
from dlsp.engine.remote import address
from dlsp.errors import UserError
from dlsp.ignore.patterns import is_pattern
from dlsp.models.added import added
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find
from dlsp.models.sizing import AUTO, CONTEXT_TOKENS, choose, default_context

MODES = ("verified", "autoregressive", "diffusion")
EAGERNESS = ("auto", "eager", "manual", "off")
LOGS = ("plain", "text")
ALL_LANGUAGES = "*"
EVERYTHING = ("*",)
MAX_THREADS = 256
AWAYS = ("local", "quiet")
STEERS = ("off", "brackets", "names", "both")


def _model(value: Any) -> str:
    return str(value)[:64]


def _one_of(name: str, allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise UserError(f"There is no {name} '{str(value)[:40]}': use one of {', '.join(allowed)}.")
        return value

    return read


def _suggest(value: Any) -> tuple[tuple[str, str], ...]:
    """Read one eagerness for all languages, or a table of them by language."""
    one = _one_of("way to suggest", EAGERNESS)
    table = {ALL_LANGUAGES: value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise UserError("`suggest` is one of {}, or a table of them by language.".format(", ".join(EAGERNESS)))
    by_language = {str(name): one(each) for name, each in cast("Mapping[Any, Any]", table).items()}
    return tuple({ALL_LANGUAGES: "auto", **by_language}.items())


def _globs(value: Any) -> tuple[str, ...]:
    """Read a list of globs, or a single one. An invalid value excludes everything, because it was meant to exclude
    files."""
    if isinstance(value, str):
        return (value,)
    given = cast("list[Any] | tuple[Any, ...]", value) if isinstance(value, list | tuple) else ()
    globs = tuple(each for each in given if isinstance(each, str))
    return globs if isinstance(value, list | tuple) and len(globs) == len(given) else EVERYTHING


def _budget(value: Any) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UserError(f"`context` is a number of tokens: for example {DEFAULT_TOKENS}.")
    return within_bounds(int(value))


def _threads(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_THREADS:
        raise UserError(f"`threads` is a number from 0, for what suits the machine, to {MAX_THREADS}.")
    return value


def _infill_update(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError("`infill_update` is true, or false for the model as it was published.")
    return value


def _setting(default: Any, read: Callable[[Any], Any], description: str, schema: Mapping[str, Any]) -> Any:
    """A field whose JSON value `read` converts; `read` raises UserError for an invalid one."""
    return attrs.field(default=default, metadata={"read": read, "schema": {"description": description, **schema}})


@attrs.frozen
class Sizing:
    """What `auto` means on this machine: the model, and the context budget of each model in tokens; and the models that
    the user added.
    """

    model: Model = DEFAULT
    added: tuple[Model, ...] = ()
    contexts: Mapping[Model, int] = attrs.Factory(dict[Model, int])


def sizing() -> Sizing:
    """The present sizing. Reads files."""
    own = added()
    return Sizing(choose().model, own, {model: default_context(model) for model in (*CATALOGUE, *own)})


@attrs.frozen
class Settings:
    """The settings of one document; `model` and `context` default to what suits the machine."""

    chosen_model: Model | None = _setting(
        None,
        _model,
        "The model: a size, or the name of one that you added (`dlsp model add`); `auto` is the largest that answers "
        "fast enough on this machine.",
        {"anyOf": [{"enum": [AUTO, *(model.short for model in CATALOGUE)]}, {"type": "string"}]},
    )
    mode: str = _setting(MODES[0], _one_of("mode", MODES), "How the model decodes.", {"enum": list(MODES)})
    log: str = _setting(
        LOGS[0],
        _one_of("log", LOGS),
        "What the server's log file may hold: `text` lets suggestions and the text around them in.",
        {"enum": list(LOGS)},
    )
    suggest: tuple[tuple[str, str], ...] = _setting(
        ((ALL_LANGUAGES, "auto"),),
        _suggest,
        "When suggestions come: `auto` (where they are likely to be right), `eager`, `manual` (by a key only) or `off` "
        "(no work at all); or a table of these by language identifier, `*` for the others.",
        {
            "anyOf": [
                {"enum": list(EAGERNESS)},
                {"type": "object", "additionalProperties": {"enum": list(EAGERNESS)}},
            ]
        },
    )
    ignore: tuple[str, ...] = _setting(
        (),
        _globs,
        "Files that are never read, as globs like in `.gitignore`, besides those that `.gitignore` and `.dlspignore` "
        "name. What one layer excludes, none lets in.",
        {"type": "array", "items": {"type": "string"}},
    )
    chosen_context: int | None = _setting(
        None,
        _budget,
        "How many tokens of context the model sees at most; by default what suits the machine.",
        {"type": "integer"},
    )
    threads: int = _setting(
        0,
        _threads,
        "How many threads the engine uses, from its next start; 0 for what suits the machine.",
        {"type": "integer", "minimum": 0, "maximum": MAX_THREADS},
    )
    infill_update: bool = _setting(
        True,
        _infill_update,
        "Whether an engine that is started adds the infill update to the weights; false for the model as it was "
        "published.",
        {"type": "boolean"},
    )
    steer: str = _setting(
        STEERS[0],
        _one_of("way to steer", STEERS),
        "What suggestions are steered to: `names` that stand in what the model sees, after dots and in calls; "
        "`brackets` and strings that are closed; `both`; or `off`.",
        {"enum": list(STEERS)},
    )
    server: str = _setting(
        "",
        address,
        "The address of a team's server, to which text then goes in place of the engine on this machine; empty for "
        "none. It is used only if you have stored a token for it.",
        {"type": "string"},
    )
    server_away: str = _setting(
        AWAYS[0],
        _one_of("way to go on without the server", AWAYS),
        "What happens while the team's server cannot be asked: the engine on this machine answers, if there is one "
        "(`local`), or nothing is suggested (`quiet`).",
        {"enum": list(AWAYS)},
    )
    sizing: Sizing = Sizing()

    @property
    def model(self) -> Model:
        return self.chosen_model or self.sizing.model

    @property
    def context(self) -> int:
        """The context budget in tokens."""
        return self.chosen_context or self.sizing.contexts.get(self.model, CONTEXT_TOKENS[-1])

    def suggests(self, language_id: str) -> str:
        """When suggestions appear automatically in a language: `auto`, `eager`, `manual` or `off`."""
        table = dict(self.suggest)
        return table.get(language_id, table[ALL_LANGUAGES])


# The fields that can be set, by their public names.
FIELDS = {field.name.removeprefix("chosen_"): field for field in attrs.fields(Settings) if "read" in field.metadata}
# What a project's file may set: nothing that can harm the user who opens the project.
PROJECT_FIELDS = frozenset({"model", "mode", "ignore"})


def merged(layers: Iterable[Mapping[str, Any]], added: Sequence[Model] = ()) -> tuple[Settings, list[str]]:
    """Merge layers of settings, later ones overriding earlier ones; returns also a sentence for each invalid value.
    `added` are the models that the user added.

    None means unset, and unknown names are ignored. The globs of `ignore` are collected from all layers; invalid ones
    are dropped and the others kept, so that a mistake in one does not expose what the others exclude.
    """
    values: dict[str, Any] = {}
    complaints: list[str] = []
    for layer in layers:
        for name, value in layer.items():
            if value is None or name not in FIELDS:
                continue
            field = FIELDS[name]
            try:
                read = field.metadata["read"](value)
                if name == "model":
                    read = None if read == AUTO else find(read, added)
            except UserError as error:
                complaints.append(str(error))
                continue
            if name == "ignore":
                if read == EVERYTHING and value not in (EVERYTHING[0], list(EVERYTHING)):
                    complaints.append(
                        '`ignore` is a list of globs, for example ["private/", "*.sql"]: until it is one, no file is '
                        "read."
                    )
                read = values.get(field.name, ()) + read
            values[field.name] = read
    globs: tuple[str, ...] = values.get("ignore", ())
    refused = [glob for glob in globs if not is_pattern(glob)]
    complaints += [f"`ignore` cannot use '{glob[:40]}', which is no pattern of .gitignore." for glob in refused]
    values["ignore"] = tuple(filter(is_pattern, globs))
    return Settings(**values), complaints


def settings(layers: Iterable[Mapping[str, Any]]) -> tuple[Settings, list[str]]:
    """The merged settings with this machine's sizing. Reads files."""
    here = sizing()
    made, complaints = merged(layers, here.added)
    return attrs.evolve(made, sizing=here), complaints


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a settings table."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of dlsp",
        "type": "object",
        "properties": {name: _property(field) for name, field in FIELDS.items()},
        "additionalProperties": False,
    }


def _property(field: "attrs.Attribute[Any]") -> dict[str, Any]:
    schema = dict(field.metadata["schema"])
    if isinstance(field.default, str | int):
        schema["default"] = field.default
    return schema
