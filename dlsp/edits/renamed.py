"""What an edit that renames did to the two names on its page."""

import math
from collections.abc import Mapping
from functools import cached_property

from dlsp.edits.learned import Rule
from dlsp.edits.page import Page
from dlsp.edits.scope import Scope
from dlsp.edits.uses import Use, uses

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
