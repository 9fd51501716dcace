"""The scopes of a syntax tree and what its names do, as the language's query captures them."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tree_sitter import Node, Query, QueryCursor, Tree

from dlsp.syntax.languages import Language

QUERIES = Path(__file__).parent / "queries"
INHERITS = re.compile(r"; inherits: (\w+)\n")
# What a name is at a place, where it is not simply a name.
ROLES = ("member", "keyword", "path", "label", "exported", "quoted")
# The regions within which bindings count otherwise.
REGIONS = ("nearest", "renewed", "assigned")


def text_of(node: Node, content: bytes) -> str:
    """The node's text in the document `content`."""
    return content[node.start_byte : node.end_byte].decode("utf-8", "replace")


@dataclass
class Table:
    """What the query captures in one tree, by the ids of its nodes.

    `scopes` have a kind and a name, `bindings` the level: "" (module, class or function), "nearest" or "class".
    `roles` are one of ROLES each, with the owner's text. `statements` are the ends, in bytes, of the statements around
    bound names and `@renewed` regions; `types` are those of typed names, or a method's class.
    """

    closed: bool = False
    ordered: bool = False
    scopes: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    bindings: dict[int, str] = field(default_factory=dict[int, str])
    roles: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    statements: dict[int, int] = field(default_factory=dict[int, int])
    regions: dict[int, str] = field(default_factory=dict[int, str])
    types: dict[int, str] = field(default_factory=dict[int, str])
    outside: set[int] = field(default_factory=set[int])
    further: set[int] = field(default_factory=set[int])
    alias: set[int] = field(default_factory=set[int])
    default: set[int] = field(default_factory=set[int])
    shorthand: set[int] = field(default_factory=set[int])

    @classmethod
    def of(cls, tree: Tree, content: bytes, language: Language) -> "Table | None":
        """The table of a document's tree; None for a language without a query."""
        query = _query(language)
        if query is None:
            return None
        settings = [query.pattern_settings(pattern) for pattern in range(query.pattern_count)]
        made = cls(any("closed" in each for each in settings), any("ordered" in each for each in settings))
        # Where the whole text is one error, the root has another type.
        made.scopes[tree.root_node.id] = "module", ""
        for pattern, captured in QueryCursor(query).matches(tree.root_node):
            made._add(captured, settings[pattern], content)
        return made

    def _add(self, captured: dict[str, list[Node]], settings: dict[str, str | None], content: bytes) -> None:
        """Add one match of the query."""
        if "list" in settings and text_of(captured["list"][0], content) != settings["list"]:
            return
        named = captured.get("name") or captured.get("owner") or ()
        text = text_of(named[0], content) if named else ""
        ends = captured.get("statement", ())
        for capture, nodes in captured.items():
            kind, _, level = capture.partition(".")
            for node in nodes:
                if kind == "scope":
                    self.scopes[node.id] = level, text
                elif kind == "binds":
                    self.bindings[node.id] = level
                elif kind in ROLES:
                    self.roles[node.id] = kind, text
                elif kind in REGIONS:
                    self.regions[node.id] = kind
                elif kind in ("outside", "further", "alias", "default", "shorthand"):
                    getattr(self, kind).add(node.id)
                elif kind in ("typed", "method"):
                    of = captured.get("type") or captured["of"]
                    self.types.setdefault(node.id, text_of(of[0], content))
                if ends and kind in ("binds", "renewed", "nearest"):
                    self.statements[node.id] = ends[0].end_byte


def has_scopes(language: Language) -> bool:
    """Whether there is a query for the language."""
    return _query(language) is not None


@cache
def _query(language: Language) -> Query | None:
    file = QUERIES / f"{language.name}.scm"
    return Query(language.grammar(), _text(file)) if file.exists() else None


def _text(file: Path) -> str:
    """A query's text, with that of the file of which its first line says that it inherits."""
    text = file.read_text(encoding="utf-8")
    inherited = INHERITS.match(text)
    return _text(file.with_stem(inherited[1])) + text if inherited else text
