"""Typed parameters of the requests and notifications that are not part of LSP, and answers to ours."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import attrs
from cattrs import Converter
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, override
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

T = TypeVar("T")


@attrs.frozen
class Document:
    """A `TextDocumentIdentifier`, with its version if given."""

    uri: str
    version: int | None = None


@attrs.frozen
class Position:
    """An LSP position."""

    line: int = attrs.field(validator=attrs.validators.ge(0))
    character: int = attrs.field(validator=attrs.validators.ge(0))

    def lsp(self) -> types.Position:
        return types.Position(self.line, self.character)


@attrs.frozen
class Range:
    """An LSP range."""

    start: Position
    end: Position

    def lsp(self) -> types.Range:
        return types.Range(self.start.lsp(), self.end.lsp())


@attrs.frozen
class Place:
    """`dlsp/alternatives`."""

    text_document: Document
    position: Position


@attrs.frozen
class Fill:
    """`dlsp/fill`; the lines of a `range` are rewritten, and a `seed` other than 0 gives an alternative."""

    text_document: Document
    position: Position | None = None
    range: Range | None = None
    partial_result_token: str | int | None = None
    seed: int | None = None


@attrs.frozen
class Instruct:
    """`dlsp/instruct`; `sketch` outlines the wanted result."""

    text_document: Document
    range: Range
    instruction: str = ""
    sketch: str | None = None


@attrs.frozen
class Edits:
    """`dlsp/edits`, and `textDocument/copilotInlineEdit` without its position."""

    text_document: Document
    partial_result_token: str | int | None = None


@attrs.frozen
class DismissedEdits:
    """`dlsp/didDismissEdits`; without `ids`, all are dismissed."""

    ids: list[str] | None = None


@attrs.frozen
class Focus:
    """`textDocument/didFocus`."""

    text_document: Document


@attrs.frozen
class Command:
    """The command of an item or an edit."""

    arguments: list[str]


@attrs.frozen
class Item:
    """The suggestion that feedback is about; `id` is that of `dlsp/didAnswer`. Copilot's clients may send its command
    alone."""

    insert_text: str | None = None
    id: str | None = None
    command: Command | None = None

    @property
    def told_id(self) -> str | None:
        return self.id or next(iter(self.command.arguments if self.command else ()), None)


@attrs.frozen
class Feedback:
    """The outcome of a suggestion; `accepted_length` counts UTF-16 units of its text."""

    item: Item
    accepted_length: int | None = None


@attrs.frozen
class Placed:
    """A request at a position of a document."""

    text_document: Document
    position: Position


@attrs.frozen
class OldDocument:
    """The document and the position of Copilot's older requests."""

    uri: str
    position: Position
    version: int | None = None


@attrs.frozen
class OldCompletions:
    """`getCompletions` and `getCompletionsCycling`."""

    doc: OldDocument


@attrs.frozen
class Panel:
    """`getPanelCompletions`, whose suggestions come under the panel's id."""

    panel_id: str = ""


@attrs.frozen
class OldFeedback:
    """`notifyShown` and `notifyAccepted`; without `accepted_length`, the whole suggestion was accepted."""

    uuid: str
    accepted_length: int | None = None


@attrs.frozen
class OldRejected:
    """`notifyRejected`."""

    uuids: list[str]


@attrs.frozen
class Change:
    """An LSP `TextEdit`."""

    range: Range
    new_text: str


@attrs.frozen
class Diagnosed:
    """An error in a line (from 0) of a document, of the answer to `dlsp/askServers`; `character` is where it begins,
    `edits` are those of the quick fix that its server prefers."""

    line: int
    message: str
    character: int | None = None
    edits: list[Change] | None = None


@attrs.frozen
class ServersAnswer:
    """The answer to `dlsp/askServers`: `hover` in Markdown or plain text, and the label of the active signature; what
    `rename` would change, and the places of each name that is asked about in `references`."""

    hover: str | None = None
    signature: str | None = None
    diagnostics: list[Diagnosed] | None = None
    rename: list[Placed] | None = None
    references: list[list[Placed]] | None = None


def read(kind: type[T], params: Any) -> T:
    """Convert parameters from pygls to the type `kind`. Raises JsonRpcInvalidParams."""
    try:
        return _CONVERTER.structure(_plain(params), kind)
    except (BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise JsonRpcInvalidParams("The parameters are not as this method takes them.") from error


def _plain(value: Any) -> Any:
    """Convert the objects that pygls makes of JSON into dictionaries and lists."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[Any] | tuple[Any, ...]", value)]
    return value


def _converter() -> Converter:
    converter = Converter()
    for kind, allowed in ((str, str), (int, int)):  # cattrs would convert a number to a string

        def strict(value: Any, _: Any, allowed: type = allowed) -> Any:
            if not isinstance(value, allowed) or isinstance(value, bool):
                raise ValueError("another type")
            return value

        converter.register_structure_hook(kind, strict)
    converter.register_structure_hook(str | int | None, lambda value, _: value)

    def structured(kind: type[Any]) -> Any:
        names = {field.name: override(rename=_camel(field.name)) for field in attrs.fields(kind)}
        return make_dict_structure_fn(kind, converter, **names)  # type: ignore[arg-type]

    converter.register_structure_hook_factory(attrs.has, structured)
    return converter


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_CONVERTER = _converter()
