"""How a name at a place relates to the name that the edit renamed: whether both mean the same thing."""

import math
import re
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePath

from dlsp.edits.search.page import Page
from dlsp.edits.search.rules import Rule
from dlsp.syntax.scopes.names import Scope, Use
from dlsp.syntax.source import encoded

# Names by which a class refers to itself or its instance.
SELF_NAMES = ("self", "cls", "this", "Self")


class Renamed:
    """The name renamed by `rule`; `own` is the edit's page. Searching ends at the time `until`."""

    def __init__(self, rule: Rule, own: Page, until: float = math.inf) -> None:
        self.rule, self.own = rule, own
        self._until = until
        self._known: dict[tuple[str, str], Mapping[int, Use]] = {}

    def uses(self, name: str, page: Page) -> Mapping[int, Use]:
        """The uses of a name on a page by offset, cached; none for a page without syntax tree."""
        key = page.uri, name
        if key not in self._known:
            late = time.monotonic() > self._until
            self._known[key] = page.names.uses(name) if page.names and not late else {}
        return self._known[key]

    @cached_property
    def old(self) -> Mapping[int, Use]:
        return self.uses(self.rule.old[0], self.own)

    @cached_property
    def new(self) -> Mapping[int, Use]:
        return self.uses(self.rule.new, self.own)

    @cached_property
    def edited(self) -> list[Use]:
        """The uses of the new name in the lines that the edit wrote."""
        return [use for offset, use in self.new.items() if self.own.is_edited_at(offset)]

    @cached_property
    def scopes(self) -> list[Scope]:
        """The scopes in which the edit binds the new name."""
        return [use.binds for use in self.edited if use.binds]

    def kinds(self, kind: str) -> list[Use]:
        return [use for use in self.edited if use.kind == kind]

    @cached_property
    def is_taken(self) -> bool:
        """Whether the new name already existed before the edit with the same meaning."""
        for offset, use in self.new.items():
            same = use.bound in self.scopes or (use.kind == "member" and (use.of, use.home) in self._members)
            if same and not self.own.is_edited_at(offset):
                return True
        return False

    @cached_property
    def read_first(self) -> set[Scope]:
        """Scopes in which, after the edit, the old name is read before anything binds it again."""
        found: set[Scope] = set()
        for scope in self.scopes:
            edit = min(at for at, use in self.new.items() if use.binds == scope)
            later = [(at, use) for at, use in self.old.items() if at > edit and use.bound == scope]
            # On one row an assignment's right side is read before its target is bound, although it comes later in the
            # text.
            order = [(self.own.row(at), use.binds is not None) for at, use in later]
            if order and not min(order)[1]:
                found.add(scope)
        return found

    @cached_property
    def _members(self) -> set[tuple[str, Scope | None]]:
        return {(use.of, use.home) for use in self.kinds("member") if use.of in SELF_NAMES}


STANDINGS = (
    "follows",
    "bound again",
    "out of reach",
    "same meaning",
    "another meaning",
    "named in a string",
    "own member",
    "another's member",
    "a member",
    "own keyword",
    "another's keyword",
    "own path",
    "another's path",
    "of another kind",
    "prose in reach",
    "prose out of reach",
)
# Relations in which the name means what the edit renamed.
BOUND_STANDINGS = ("follows", "own member", "own keyword", "own path")
# The most bytes between a function and a place in the comment above it.
MAX_COMMENT_BYTES = 4_000
LOCAL = ("function", "loop", "block", "let")
CONSTRUCTORS = ("__init__", "__new__")
# Language families in which a name from another file is used without a binding.
_SHARED_FAMILIES = ("c", "java")


class Standing(Renamed):
    """Classifies places by their relation to the renamed name; `pages` are all that are searched."""

    def __init__(self, rule: Rule, own: Page, until: float = math.inf, pages: Sequence[Page] = ()) -> None:
        super().__init__(rule, own, until)
        self.pages = pages
        self._naming: dict[str, bool] = {}

    def at(self, page: Page, offset: int) -> str:
        """The relation of the name at `offset`, one of STANDINGS; "" if unknown."""
        if not self.edited and not self.rule.whole:
            return ""
        if page is not self.own:
            return self._elsewhere(page, offset)
        use = self.old.get(offset)
        if use is None:
            return self._of_prose(offset)
        if use.module is not None and use.binds is None:
            return "of another kind"  # it names something in another module
        of_kind = {"member": self._of_member, "keyword": self._of_keyword, "path": self._of_path}
        return of_kind.get(use.kind, self._of_name)(use)

    def _elsewhere(self, page: Page, offset: int) -> str:
        """The relation on another page, which sees the module-level names of the edit's page if it imports that."""
        if self.scopes and all(scope.kind in LOCAL for scope in self.scopes):
            return "out of reach"
        use = self.uses(self.rule.old[0], page).get(offset)
        if use is None or not self._imported(page):
            return ""
        is_top = any(scope.kind == "module" for scope in self.scopes)
        if use.kind == "member" and re.split(r"\W+", use.of)[-1] == self.own.module:
            # A Java file is named after its class.
            is_named = any(scope.kind == "class" and scope.name == self.own.module for scope in self.scopes)
            return "follows" if is_top or is_named else ""
        if not is_top:
            return ""
        if use.kind == "member":
            return "a member"
        is_bound = use.bound.kind == "module" if use.bound else self._is_shared(page)
        return "follows" if use.kind == "name" and is_bound else ""

    def _is_shared(self, page: Page) -> bool:
        """Whether the page can use names of the edit's module without importing them."""
        family = page.language.family if page.language else ""
        return family in _SHARED_FAMILIES or (
            family == "go" and PurePath(page.path).parent == PurePath(self.own.path).parent
        )

    def _imported(self, page: Page) -> bool:
        """Whether a page refers to the edit's module: by an import, or by its path, as in `require("./cart")`."""
        if page.uri not in self._naming:
            module = self.own.module
            path = rf"""\b(?:from|import|include|require)\b[ (]*(["'])(?:[^"'\n]*/)?{re.escape(module)}(?:\.\w+)?\1"""
            named = bool(self.uses(module, page)) or re.search(path, page.text) is not None
            named = named or (page.module == module and self._is_shared(page))  # a header and its source file
            self._naming[page.uri] = named
        return self._naming[page.uri]

    def _of_prose(self, offset: int) -> str:
        if not self.scopes:
            return ""
        before = len(self.own.text[:offset].encode("utf-8", "replace"))
        inside = any(scope.start <= before < scope.end or self._is_above(offset, scope) for scope in self.scopes)
        return "prose in reach" if inside else "prose out of reach"

    def _is_above(self, offset: int, scope: Scope) -> bool:
        """Whether a place is in the comment right above a function."""
        content = encoded(self.own.text)
        line = content.find(b"\n", len(encoded(self.own.text[:offset])))
        between = content[line : scope.start] if scope.kind == "function" and 0 <= line < scope.start else b""
        *comments, head = between[:MAX_COMMENT_BYTES].split(b"\n")
        is_comment = all(each.strip()[:1] in (b"", b"*", b"/", b"#", b"@") for each in comments)
        return bool(comments) and len(between) < MAX_COMMENT_BYTES and is_comment and not re.search(rb"[;{}]", head)

    def _of_name(self, use: Use) -> str:
        if self.scopes:
            would = next((scope for scope in use.scopes if scope in self.scopes), None)
            if would is None:
                return "out of reach"
            if use.bound is None or use.scopes.index(use.bound) > use.scopes.index(would):
                return "follows"
            if use.bound != would:
                return "out of reach"
            return "follows" if would in self.read_first else "bound again"
        if not self.edited:
            return "named in a string" if use.bound else ""
        names = self.kinds("name")
        if names:
            bound = {each.binds for each in self.old.values() if each.binds}
            meant = {next((scope for scope in each.scopes if scope in bound), None) for each in names}
            return "same meaning" if use.bound in meant else "another meaning"
        if use.binds and any(self._is_called(each.of, use.binds) for each in self.kinds("keyword")):
            return "own keyword"
        if use.binds and use.binds.kind == "class":
            return self._among_members(use.home, mine=True)
        return "of another kind"

    def _of_member(self, use: Use) -> str:
        if not self.edited:
            return "a member"
        mine = use.of in SELF_NAMES
        members = self.kinds("member")
        if any(each.of == use.of and not mine for each in members):
            return "own member"
        if members:
            return self._among_members(use.home, mine)
        if any(scope.kind == "class" and mine and scope == use.home for scope in self.scopes):
            return "own member"
        if not self.scopes:
            return "of another kind"
        return "another's member" if mine or all(scope.kind in LOCAL for scope in self.scopes) else "a member"

    def _among_members(self, home: Scope | None, mine: bool) -> str:
        """The relation of a member of the class `home`, or of something unknown, to the members that the edit
        renamed."""
        owners = {each.home for each in self.kinds("member") if each.of in SELF_NAMES}
        if home in owners and mine:
            return "own member"
        # Where no class is around, the text that it begins in is not there or broken.
        return "another's member" if mine and home and owners - {None} else "a member"

    def _of_keyword(self, use: Use) -> str:
        if any(self._is_called(use.of, scope) and self._is_argument(scope) for scope in self.scopes):
            return "own keyword"
        return "own keyword" if any(each.of == use.of for each in self.kinds("keyword")) else "another's keyword"

    def _is_argument(self, scope: Scope) -> bool:
        """Whether calls give what the edit renamed in this scope: a parameter, or a class's field without a constructor
        of its own."""
        if scope.kind != "class":
            return True
        at = [offset for offset, use in self.new.items() if use.binds == scope and self.own.is_edited_at(offset)]
        is_method = any(re.search(r"\bdef\s+\Z", self.own.text[max(0, offset - 40) : offset]) for offset in at)
        made = (use.binds for name in CONSTRUCTORS for use in self.uses(name, self.own).values())
        return not is_method and scope not in made

    def _of_path(self, use: Use) -> str:
        return "own path" if any(each.of == use.of for each in self.kinds("path")) else "another's path"

    def _is_called(self, called: str, scope: Scope) -> bool:
        """Whether the function that a call names has the name of the scope's function, or of its class."""
        name = called.rpartition(".")[2]
        return bool(name) and name == (scope.owner if scope.name in CONSTRUCTORS else scope.name)
