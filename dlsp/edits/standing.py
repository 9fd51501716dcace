"""How a name at a place stands to the name that the edit changed: whether both mean the same thing."""

import math
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import PurePath

from dlsp.edits.learned import Rule
from dlsp.edits.page import Page
from dlsp.edits.scope import Scope
from dlsp.edits.uses import Use, uses

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
_OWN = ("self", "cls", "this", "Self")
_LOCAL = ("function", "loop")
_MAKERS = ("__init__", "__new__")
_SHARED = ("c", "java")
"""Families in which a name of another file is not bound where it is used."""


class Standing:
    """Of one rule that renames; `own` is the page of the edit. Places are looked for `until` then."""

    def __init__(self, rule: Rule, own: Page, until: float = math.inf) -> None:
        self._rule = rule
        self._own = own
        self._until = until
        self._known: dict[tuple[str, str], Mapping[int, Use]] = {}
        self._naming: dict[str, bool] = {}

    def at(self, page: Page, offset: int) -> str:
        """One of STANDINGS, or nothing where it is not known."""
        if not self._edited and not self._rule.whole:
            return ""
        if page is not self._own:
            return self._elsewhere(page, offset)
        use = self._old.get(offset)
        if use is None:
            return self._of_prose(offset)
        of_kind = {"member": self._of_member, "keyword": self._of_keyword, "path": self._of_path}
        return of_kind.get(use.kind, self._of_name)(use)

    @cached_property
    def is_taken(self) -> bool:
        """Whether the new name stood there before the edit, and meant what it means in the edit."""
        for offset, use in self._new.items():
            same = use.bound in self._scopes or (use.kind == "member" and (use.of, use.home) in self._members)
            if same and not self._own.is_edited_at(offset):
                return True
        return False

    @cached_property
    def _members(self) -> set[tuple[str, Scope | None]]:
        return {(use.of, use.home) for use in self._kinds("member") if use.of in _OWN}

    @cached_property
    def _old(self) -> Mapping[int, Use]:
        return self._uses(self._rule.old[0], self._own)

    @cached_property
    def _new(self) -> Mapping[int, Use]:
        return self._uses(self._rule.new, self._own)

    @cached_property
    def _edited(self) -> list[Use]:
        """The places of the new name in the edit."""
        return [use for offset, use in self._new.items() if self._own.is_edited_at(offset)]

    @cached_property
    def _scopes(self) -> list[Scope]:
        """Where the edit binds the new name."""
        return [use.binds for use in self._edited if use.binds]

    def _uses(self, name: str, page: Page) -> Mapping[int, Use]:
        key = page.uri, name
        if key not in self._known:
            named = page.source and name.isidentifier()
            self._known[key] = uses(page.source, page.text, name, self._until) if page.source and named else {}
        return self._known[key]

    def _kinds(self, kind: str) -> list[Use]:
        return [use for use in self._edited if use.kind == kind]

    def _elsewhere(self, page: Page, offset: int) -> str:
        """On another page, which sees what is bound at the top of the edit's module if it names that module."""
        if self._scopes and all(scope.kind in _LOCAL for scope in self._scopes):
            return "out of reach"
        use = self._uses(self._rule.old[0], page).get(offset)
        if use is None or not self._imported(page):
            return ""
        is_top = any(scope.kind == "module" for scope in self._scopes)
        if use.kind == "member" and re.split(r"\W+", use.of)[-1] == self._own.module:
            # A file of Java is named like its class.
            is_named = any(scope.kind == "class" and scope.name == self._own.module for scope in self._scopes)
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
        return family in _SHARED or (family == "go" and PurePath(page.path).parent == PurePath(self._own.path).parent)

    def _imported(self, page: Page) -> bool:
        """Whether a page names the edit's module: in an import, or by its path, as in `require("./cart")`."""
        if page.uri not in self._naming:
            module = self._own.module
            path = rf"""\b(?:from|import|include|require)\b[ (]*(["'])(?:[^"'\n]*/)?{re.escape(module)}(?:\.\w+)?\1"""
            named = bool(self._uses(module, page)) or re.search(path, page.text) is not None
            named = named or (page.module == module and self._is_shared(page))  # a header and its source
            self._naming[page.uri] = named
        return self._naming[page.uri]

    def _of_prose(self, offset: int) -> str:
        if not self._scopes:
            return ""
        before = len(self._own.text[:offset].encode("utf-8", "replace"))
        inside = any(scope.start <= before < scope.end for scope in self._scopes)
        return "prose in reach" if inside else "prose out of reach"

    def _of_name(self, use: Use) -> str:
        if self._scopes:
            would = next((scope for scope in use.scopes if scope in self._scopes), None)
            if would is None:
                return "out of reach"
            if use.bound is None or use.scopes.index(use.bound) > use.scopes.index(would):
                return "follows"
            if use.bound != would:
                return "out of reach"
            return "follows" if would in self._read_first else "bound again"
        if not self._edited:
            return "named in a string" if use.bound else ""
        names = self._kinds("name")
        if names:
            bound = {each.binds for each in self._old.values() if each.binds}
            meant = {next((scope for scope in each.scopes if scope in bound), None) for each in names}
            return "same meaning" if use.bound in meant else "another meaning"
        if use.binds and any(self._is_called(each.of, use.binds) for each in self._kinds("keyword")):
            return "own keyword"
        if use.binds and use.binds.kind == "class":
            return self._among_members(use.home, mine=True)
        return "of another kind"

    @cached_property
    def _read_first(self) -> set[Scope]:
        """Scopes in which the old name is read, after the edit bound the new one, before anything binds it again."""
        found = set()
        for scope in self._scopes:
            edit = min(at for at, use in self._new.items() if use.binds == scope)
            later = [(at, use) for at, use in self._old.items() if at > edit and use.bound == scope]
            # What is assigned is read before it is bound, though it stands behind it.
            order = [(self._own.row(at), use.binds is not None) for at, use in later]
            if order and not min(order)[1]:
                found.add(scope)
        return found

    def _of_member(self, use: Use) -> str:
        if not self._edited:
            return "a member"
        mine = use.of in _OWN
        members = self._kinds("member")
        if any(each.of == use.of and not mine for each in members):
            return "own member"
        if members:
            return self._among_members(use.home, mine)
        if any(scope.kind == "class" and mine and scope == use.home for scope in self._scopes):
            return "own member"
        if not self._scopes:
            return "of another kind"
        return "another's member" if mine or all(scope.kind in _LOCAL for scope in self._scopes) else "a member"

    def _among_members(self, home: Scope | None, mine: bool) -> str:
        """How a member of this class, or of something unknown, stands to those that the edit changed."""
        owners = {each.home for each in self._kinds("member") if each.of in _OWN}
        if mine and owners:
            return "own member" if home in owners else "another's member"
        return "a member"

    def _of_keyword(self, use: Use) -> str:
        if any(self._is_called(use.of, scope) for scope in self._scopes):
            return "own keyword"
        return "own keyword" if any(each.of == use.of for each in self._kinds("keyword")) else "another's keyword"

    def _of_path(self, use: Use) -> str:
        return "own path" if any(each.of == use.of for each in self._kinds("path")) else "another's path"

    def _is_called(self, name: str, scope: Scope) -> bool:
        return bool(name) and name == (scope.owner if scope.name in _MAKERS else scope.name)
