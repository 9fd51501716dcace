"""How a definition from another file is shown: in three levels of detail, and with the reason."""

from collections.abc import Callable

from dlsp.context.names import Names
from dlsp.context.parts import Part
from dlsp.index.store import Found


def why(found: Found, names: Names, imported: bool) -> str:
    """The reason for including the definition, for the user."""
    how = "imported" if imported or found.symbol.name in names.imported else "named"
    return f"defines {found.symbol.name}, {how} here"


def part(found: Found, why: str) -> Part:
    """The definition's outline as a part of the context; a Python method gets its class's header."""
    symbol = found.symbol
    text = f"class {symbol.parent}:\n{symbol.text}" if symbol.parent and found.path.endswith(".py") else symbol.text
    return Part(found.path, symbol.row, text, why)


def _outline(found: Found) -> str:
    return found.symbol.text


def _line(found: Found) -> str:
    """The first line of a definition, without decorators."""
    lines = [line for line in found.symbol.text.split("\n") if not line.lstrip().startswith("@")]
    return lines[0] if lines else found.symbol.name


def _brief(found: Found) -> str:
    """The definition up to its name."""
    line = _line(found)
    at = line.find(found.symbol.name)
    return line[: at + len(found.symbol.name)] if at >= 0 else found.symbol.name


# The forms a member can be shown in, longest first.
FORMS: tuple[Callable[[Found], str], ...] = (_outline, _line, _brief)
