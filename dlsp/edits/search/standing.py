"""How a name at a place stands to the name that the edit changed: whether both mean the same thing."""

import math
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import PurePath

from dlsp.edits.search.page import Page
from dlsp.edits.search.rules import Rule
from dlsp.edits.search.scopes import Scope
from dlsp.edits.search.uses import Use, uses

OWN = ("self", "cls", "this", "Self")
"""What a class calls itself, or one of its own."""


class Renamed:
    """By a `rule` of the edit; `own` is the edit's page. Places are looked for `until` then."""

    def __init__(self, rule: Rule, own: Page, until: float = math.inf) -> None:
        self.rule, self.own = rule, own
        self._until = until
        self._known: dict[tuple[str, str], Mapping[int, Use]] = {}

    def uses(self, name: str, page: Page) -> Mapping[int, Use]:
        key = page.uri, name
        if key not in self._known:
            named = page.source and name.isidentifier()
            self._known[key] = uses(page.source, page.text, name, self._until) if page.source and named else {}
        return self._known[key]

    @cached_property
    def old(self) -> Mapping[int, Use]:
        return self.uses(self.rule.old[0], self.own)

    @cached_property
    def new(self) -> Mapping[int, Use]:
        return self.uses(self.rule.new, self.own)

    @cached_property
    def edited(self) -> list[Use]:
        """The places of the new name in the edit."""
        return [use for offset, use in self.new.items() if self.own.is_edited_at(offset)]

    @cached_property
    def scopes(self) -> list[Scope]:
        """Where the edit binds the new name."""
        return [use.binds for use in self.edited if use.binds]

    def kinds(self, kind: str) -> list[Use]:
        return [use for use in self.edited if use.kind == kind]

    @cached_property
    def is_taken(self) -> bool:
        """Whether the new name stood there before the edit, and meant what it means in the edit."""
        for offset, use in self.new.items():
            same = use.bound in self.scopes or (use.kind == "member" and (use.of, use.home) in self._members)
            if same and not self.own.is_edited_at(offset):
                return True
        return False

    @cached_property
    def read_first(self) -> set[Scope]:
        """Scopes in which the old name is read, after the edit bound the new one, before anything binds it again."""
        found = set()
        for scope in self.scopes:
            edit = min(at for at, use in self.new.items() if use.binds == scope)
            later = [(at, use) for at, use in self.old.items() if at > edit and use.bound == scope]
            # What is assigned is read before it is bound, though it stands behind it.
            order = [(self.own.row(at), use.binds is not None) for at, use in later]
            if order and not min(order)[1]:
                found.add(scope)
        return found

    @cached_property
    def _members(self) -> set[tuple[str, Scope | None]]:
        return {(use.of, use.home) for use in self.kinds("member") if use.of in OWN}


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
BOUND = ("follows", "own member", "own keyword", "own path")
"""Where the name means what the edit renamed."""
_LOCAL = ("function", "loop")
_MAKERS = ("__init__", "__new__")
_SHARED = ("c", "java")
"""Families in which a name of another file is not bound where it is used."""


class Standing(Renamed):
    """To a name that was renamed."""

    def __init__(self, rule: Rule, own: Page, until: float = math.inf) -> None:
        super().__init__(rule, own, until)
        self._naming: dict[str, bool] = {}

    def at(self, page: Page, offset: int) -> str:
        """One of STANDINGS, or nothing where it is not known."""
        if not self.edited and not self.rule.whole:
            return ""
        if page is not self.own:
            return self._elsewhere(page, offset)
        use = self.old.get(offset)
        if use is None:
            return self._of_prose(offset)
        of_kind = {"member": self._of_member, "keyword": self._of_keyword, "path": self._of_path}
        return of_kind.get(use.kind, self._of_name)(use)

    def _elsewhere(self, page: Page, offset: int) -> str:
        """On another page, which sees what is bound at the top of the edit's module if it names that module."""
        if self.scopes and all(scope.kind in _LOCAL for scope in self.scopes):
            return "out of reach"
        use = self.uses(self.rule.old[0], page).get(offset)
        if use is None or not self._imported(page):
            return ""
        is_top = any(scope.kind == "module" for scope in self.scopes)
        if use.kind == "member" and re.split(r"\W+", use.of)[-1] == self.own.module:
            # A file of Java is named like its class.
            is_named = any(scope.kind == "class" and scope.name == self.own.module for scope in self.scopes)
            return "follows" if is_top or is_named else ""
        if not is_top:
            return ""
        if use.kind == "member":
            return "a member"
        is_bound = use.bound.kind == "module" if use.bound else self._is_shared(page)
        return "follows" if use.kind == "name" and is_bound else ""

    def _is_shared(self, page: Page) -> bool:
        """Whether names of the edit's module need no import on a page that names it."""
        family = page.language.family if page.language else ""
        return family in _SHARED or (family == "go" and PurePath(page.path).parent == PurePath(self.own.path).parent)

    def _imported(self, page: Page) -> bool:
        """Whether a page names the edit's module: in an import, or by its path, as in `require("./cart")`."""
        if page.uri not in self._naming:
            module = self.own.module
            path = rf"""\b(?:from|import|include|require)\b[ (]*(["'])(?:[^"'\n]*/)?{re.escape(module)}(?:\.\w+)?\1"""
            named = bool(self.uses(module, page)) or re.search(path, page.text) is not None
            named = named or (page.module == module and self._is_shared(page))  # a header and its source
            self._naming[page.uri] = named
        return self._naming[page.uri]

    def _of_prose(self, offset: int) -> str:
        if not self.scopes:
            return ""
        before = len(self.own.text[:offset].encode("utf-8", "replace"))
        inside = any(scope.start <= before < scope.end for scope in self.scopes)
        return "prose in reach" if inside else "prose out of reach"

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
        mine = use.of in OWN
        members = self.kinds("member")
        if any(each.of == use.of and not mine for each in members):
            return "own member"
        if members:
            return self._among_members(use.home, mine)
        if any(scope.kind == "class" and mine and scope == use.home for scope in self.scopes):
            return "own member"
        if not self.scopes:
            return "of another kind"
        return "another's member" if mine or all(scope.kind in _LOCAL for scope in self.scopes) else "a member"

    def _among_members(self, home: Scope | None, mine: bool) -> str:
        """How a member of this class, or of something unknown, stands to those that the edit changed."""
        owners = {each.home for each in self.kinds("member") if each.of in OWN}
        if mine and owners:
            return "own member" if home in owners else "another's member"
        return "a member"

    def _of_keyword(self, use: Use) -> str:
        if any(self._is_called(use.of, scope) for scope in self.scopes):
            return "own keyword"
        return "own keyword" if any(each.of == use.of for each in self.kinds("keyword")) else "another's keyword"

    def _of_path(self, use: Use) -> str:
        return "own path" if any(each.of == use.of for each in self.kinds("path")) else "another's path"

    def _is_called(self, name: str, scope: Scope) -> bool:
        return bool(name) and name == (scope.owner if scope.name in _MAKERS else scope.name)
