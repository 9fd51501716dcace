"""The places of a name in a document, and what it means at each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from tree_sitter import Node

from dlsp.syntax.scopes import imports
from dlsp.syntax.scopes.table import Table, has_scopes, text_of
from dlsp.syntax.source import Source

# The most places of a name that are examined.
MAX_PLACES = 2_000
# Places deeper in the tree than this many nodes are not examined, such as those in an expression of thousands of terms.
MAX_DEPTH_NODES = 500
# What stands for all that a module exports, in `Use.imported`.
DEFAULT = "default"
_HOISTING = ("module", "class", "function")
_BEHIND = re.compile(rb"(\w*)\s*(?<!\.)(?:\.|::)[ \t]*\Z")


@dataclass(frozen=True)
class Scope:
    """A module, class, function, loop or block, or the rest of a block after a `let`; `start` and `end` in bytes,
    `owner` the name of the class around it."""

    kind: str
    name: str
    start: int
    end: int
    owner: str = ""


@dataclass(frozen=True)
class Use:
    """A name at one place.

    `kind`: name, member, keyword, path (part of the module in an import) or label. `of` is the owner of a member, the
    function called with the keyword as it is written, or the text before a path's part. `scopes` are those in which
    the name is looked up, innermost first; `bound` is the one it is found in, `binds` the one it is bound in at this
    place, `home` the class around it. `module` is the module that an import statement takes the name from, None
    outside of imports. `is_alias`: the importing file chose this name for what it imports. `is_shorthand`: it is a
    variable and a key at once. `imported`: what an alias is called in its module, DEFAULT for what that exports as a
    whole. `type` is the declared one of a variable bound here, or a method's class outside of it.
    """

    kind: str
    of: str
    scopes: tuple[Scope, ...]
    bound: Scope | None
    binds: Scope | None
    home: Scope | None
    module: str | None = None
    is_alias: bool = False
    is_shorthand: bool = False
    imported: str = ""
    type: str = ""


@dataclass(frozen=True)
class _Place:
    """A leaf before it is known where its name is bound; `since` is the byte from which the name that it binds
    exists."""

    offset: int
    leaf: Node
    scopes: tuple[Scope, ...]
    home: Scope | None
    binds: Scope | None
    since: int
    further: bool


class Names:
    """The names of a document with the given text. Without a tree, or for a language without scopes, there are none."""

    def __init__(self, source: Source, text: str) -> None:
        self._text = text
        tree = source.update(text)
        self._root = tree.root_node if tree else None
        self._content = source.bytes
        self._table = Table.of(tree, source.bytes, source.language) if tree else None
        self._scopes: dict[int, Scope] = {}
        # Whether the language has scopes and these are not known, because the document could not be parsed in time.
        self.is_blind = tree is None and has_scopes(source.language)
        # Whether the whole text is one error: where its blocks end is a guess.
        self.is_broken = tree is not None and tree.root_node.type == "ERROR"
        # The class of members that are in no class of this text: Go's methods, or those of a part of a file.
        self.outer = Scope("class", "", self._root.start_byte, self._root.end_byte) if self._root else None

    def uses(self, name: str) -> dict[int, Use]:
        """The uses of a name by offset, in characters; none in comments, and in strings only where they are names."""
        if self._root is None or self._table is None or not name.isidentifier():
            return {}
        found = ((offset, leaf, _ancestors(self._root, leaf)) for offset, leaf in self._leaves(self._root, name))
        places = [self._place(offset, leaf, above) for offset, leaf, above in found if above is not None]
        further = {each.scopes[0] for each in places if each.further and each.scopes}
        renewed = [each.binds for each in places if each.binds and each.binds.kind == "let"]
        places = [_lifted(each, further) for each in places] if further else places
        places = [_among(each, renewed) for each in places] if renewed else places
        since: dict[Scope, int] = {}
        for each in places:
            if each.binds:
                since[each.binds] = min(each.since, since.get(each.binds, each.since))
        return {each.offset: self._use(each, since) for each in places}

    def binds_in(self, node: Node) -> str:
        """The first name that is bound inside a node of the document's tree, such as a parameter; "" if there is
        none."""
        stack = [node] if self._table else []
        while stack and self._table:
            each = stack.pop()
            if each.id in self._table.bindings:
                return text_of(each, self._content)
            stack += reversed(each.children)
        return ""

    def _use(self, place: _Place, since: dict[Scope, int]) -> Use:
        assert self._table
        bound = place.binds
        if bound is None:
            at = place.leaf.start_byte
            seen = (scope for scope in place.scopes if scope in since)
            bound = next((each for each in seen if self._exists(each, at, since[each])), None)
        kind, owner = self._kind(place.leaf)
        module = imports.named(place.leaf, self._content)
        if place.binds and module is not None:
            kind, owner = "name", ""
        is_alias = module is not None and place.leaf.id in self._table.alias
        is_exported = self._table.roles.get(place.leaf.id, ("", ""))[0] == "exported"
        is_shorthand = place.leaf.id in self._table.shorthand and not is_exported
        imported = self._imported(place.leaf) if is_alias else ""
        declared = self._table.types.get(place.leaf.id, "")
        of = place.scopes, bound, place.binds, place.home, module
        return Use(kind, owner, *of, is_alias, is_shorthand, imported, declared)

    def _imported(self, leaf: Node) -> str:
        """What a name that the importing file chose is called in its module; "" where that is the module itself."""
        assert self._table
        if leaf.id in self._table.default:
            return DEFAULT
        name = (
            leaf.parent.child_by_field_name("name") or leaf.parent.child_by_field_name("path") if leaf.parent else None
        )
        return re.split(r"\W+", text_of(name, self._content))[-1] if name else ""

    def _exists(self, scope: Scope, at: int, since: int) -> bool:
        """Whether a name of the scope, which exists from the byte `since` on where order counts, exists at `at`."""
        return not (self._table and self._table.ordered) or scope.kind in ("module", "class") or at >= since

    def _kind(self, leaf: Node) -> tuple[str, str]:
        assert self._table
        kind, owner = self._table.roles.get(leaf.id, ("name", ""))
        if kind == "path" and leaf.parent:
            return kind, self._content[leaf.parent.start_byte : leaf.start_byte].decode("utf-8", "replace")
        if kind in ("exported", "quoted"):
            return "name", ""
        if kind == "name" and leaf.id not in self._table.bindings:
            # Inside macros and broken code there is no structure.
            behind = _BEHIND.search(self._content, max(0, leaf.start_byte - 100), leaf.start_byte)
            if behind and imports.named(leaf, self._content) is None:
                return "member", behind[1].decode("utf-8", "replace")
        return kind, owner

    def _leaves(self, root: Node, name: str) -> Iterator[tuple[int, Node]]:
        assert self._table
        at = byte = 0
        size = len(name.encode())
        for match in islice(re.finditer(rf"\b{re.escape(name)}\b", self._text), MAX_PLACES):
            byte += len(self._text[at : match.start()].encode("utf-8", "replace"))
            at = match.start()
            leaf = root.descendant_for_byte_range(byte, byte + size)
            while leaf and leaf.child_count == 1 and leaf.start_byte == byte:
                leaf = leaf.child(0)
            if leaf is None or leaf.child_count or (leaf.start_byte, leaf.end_byte) != (byte, byte + size):
                continue
            if "identifier" in leaf.type or leaf.id in self._table.roles:
                yield match.start(), leaf

    def _place(self, offset: int, leaf: Node, ancestors: list[Node]) -> _Place:
        """Climb from a leaf to the root and note the scopes on the way. `ancestors` are its, innermost first."""
        table = self._table
        assert table
        found: list[Scope] = []
        home: Scope | None = None
        level = table.bindings.get(leaf.id)
        since = table.statements.get(leaf.id, leaf.end_byte)
        renewed: Scope | None = None
        is_nested = False
        child: Node = leaf
        is_outside = leaf.id in table.outside
        for parent in [*ancestors, None]:
            region = table.regions.get(child.id)
            if region and level is not None:
                since = table.statements.get(child.id, since)
                level = None if region == "assigned" else "nearest" if level == "" else level
                if region == "renewed" and (around := self._around(child)):
                    renewed = Scope("let", "", since, around.end, around.owner)
            if parent is None:
                break
            kind = table.scopes.get(parent.id, ("", ""))[0]
            if kind and not is_outside:
                scope = self._scope(parent)
                # A class that is closed is not seen from its functions.
                if not (kind == "class" and is_nested and table.closed):
                    found.append(scope)
                home = home or (scope if kind == "class" else None)
                is_nested = is_nested or kind == "function"
            is_outside = (is_outside and not kind) or parent.id in table.outside
            child = parent
        binds = renewed if level is not None else None
        if binds:
            found.insert(0, binds)
        elif level is not None:
            binds = self._binding(level, found)
        if self.outer and home is None and found and not table.closed:
            found.insert(len(found) - 1, self.outer)
        return _Place(offset, leaf, tuple(found), home, binds, since, leaf.id in table.further)

    def _binding(self, level: str, scopes: list[Scope]) -> Scope | None:
        """The scope in which a name is bound, at the level of its capture."""
        if level == "nearest":
            return scopes[0] if scopes else None
        if level == "class":
            of_class = next((scope for scope in scopes if scope.kind == "class"), None)
            return of_class or self.outer
        return next((scope for scope in scopes if scope.kind in _HOISTING), None)

    def _around(self, node: Node) -> Scope | None:
        """The innermost scope around a node."""
        assert self._table
        around = node.parent
        while around is not None and around.id not in self._table.scopes:
            around = around.parent
        return self._scope(around) if around else None

    def _scope(self, node: Node) -> Scope:
        assert self._table
        if node.id not in self._scopes:
            kind, name = self._table.scopes[node.id]
            around = node.parent
            while around is not None and self._table.scopes.get(around.id, ("",))[0] not in ("class", "function"):
                around = around.parent
            of = self._table.scopes[around.id] if around else ("", "")
            owner = of[1] if kind == "function" and of[0] == "class" else ""
            self._scopes[node.id] = Scope(kind, name, node.start_byte, node.end_byte, owner)
        return self._scopes[node.id]


def _among(place: _Place, renewed: list[Scope]) -> _Place:
    """A place with the scopes that open before it where a name is bound anew."""
    at = place.leaf.start_byte
    inside = [scope for scope in renewed if scope.start <= at < scope.end and scope != place.binds]
    own = [place.binds] if place.binds in renewed else []
    rest = [scope for scope in place.scopes if scope not in own]
    # Scopes are nested, so the innermost begins last.
    return replace(place, scopes=(*own, *sorted([*rest, *inside], key=lambda scope: (-scope.start, scope.end))))


def _ancestors(root: Node, leaf: Node) -> list[Node] | None:
    """The nodes around a leaf, innermost first; None if there are more than MAX_DEPTH_NODES.

    They are found from above: each `Node.parent` searches from the root, which in deep trees takes minutes.
    """
    cursor, found = root.walk(), list[Node]()
    while (node := cursor.node) is not None and node.id != leaf.id:
        if len(found) == MAX_DEPTH_NODES or cursor.goto_first_child_for_byte(leaf.start_byte) is None:
            return None
        found.append(node)
    return found[::-1]


def _lifted(place: _Place, further: set[Scope]) -> _Place:
    """A place without the scopes that look the name up further out, by `global` or `nonlocal`."""
    scopes = tuple(scope for scope in place.scopes if scope not in further)
    is_lifted = place.binds in further or place.further
    binds = (
        next((scope for scope in scopes if scope.kind in ("module", "function")), None) if is_lifted else place.binds
    )
    return replace(place, scopes=scopes, binds=None if place.further else binds)
