"""How a name at a place relates to the name that the edit renamed: whether both mean the same thing."""

import builtins
import math
import re
import time
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from pathlib import PurePath

from dlsp.edits.search.page import Page
from dlsp.edits.search.rules import Rule, alike
from dlsp.syntax.scopes import imports
from dlsp.syntax.scopes.names import Scope, Use

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
_LOCAL = ("function", "loop", "block", "let")
_CONSTRUCTORS = ("__init__", "__new__")
# Language families in which a name from another file is used without a binding.
_SHARED_FAMILIES = ("c", "java")


class Verdict(Enum):
    """What scopes and imports alone say about a place where the rename might follow."""

    CERTAIN = "the name there is the one that the edit renamed"
    OPEN = "it may be; the evidence and the model decide"
    REFUSED = "the name there is another one"


# Relations in which the name is known to be a different one.
_REFUSED_STANDINGS = (
    *("out of reach", "another meaning", "another's member", "another's keyword", "another's path"),
    *("of another kind", "prose out of reach"),
)


class Standing(Renamed):
    """Classifies places by their relation to the renamed name."""

    def __init__(self, rule: Rule, own: Page, until: float = math.inf) -> None:
        super().__init__(rule, own, until)
        self._naming: dict[str, bool] = {}

    def verdict(self, page: Page, offset: int) -> Verdict:
        """Whether the edit must follow at this place (CERTAIN), must not (REFUSED), or may (OPEN)."""
        is_blind = any(each.names is not None and each.names.is_blind for each in (page, self.own))
        if self.is_unfinished or is_blind or time.monotonic() > self._until:
            return Verdict.REFUSED
        if not self.edited:
            return Verdict.OPEN
        if page is not self.own:
            return self._verdict_elsewhere(page, offset)
        standing = self.at(page, offset)
        if standing in _REFUSED_STANDINGS or (standing == "a member" and not self._is_of_class):
            return Verdict.REFUSED
        # An edit that did more than rename, or that changed an import, may have replaced one thing by a different one.
        is_bound = bool(self.scopes) and standing in ("follows", "bound again", "own member", "own keyword")
        is_bound = is_bound and (standing != "own keyword" or self._is_own_call(self.old[offset]))
        sure = is_bound and self.rule.only and not self.is_taken and not self._is_import
        return Verdict.CERTAIN if sure else Verdict.OPEN

    @cached_property
    def is_unfinished(self) -> bool:
        """Whether the new name is still being typed or mistyped, so that no site should follow.

        A real new name that is similar to the old one and only used in the edit must be bound or used elsewhere too. A
        member that lost several letters at its end is being deleted.
        """
        if self.scopes or not self.edited or self._is_import:
            return False
        if all(use.kind == "member" for use in self.edited):
            return self.rule.old[0].startswith(self.rule.new) and len(self.rule.old[0]) - len(self.rule.new) > 1
        if any(use.kind != "name" for use in self.edited):
            return False
        known = any(use.bound or not self.own.is_edited_at(at) for at, use in self.new.items())
        is_new = not known and len(self.edited) == 1 and not hasattr(builtins, self.rule.new)
        return is_new and alike(self.rule.old[0], self.rule.new)

    @cached_property
    def _is_import(self) -> bool:
        return any(use.module is not None for use in self.edited)

    @cached_property
    def _is_of_class(self) -> bool:
        """Whether the edit renamed a member of a class or object."""
        return bool(self.kinds("member")) or any(scope.kind == "class" for scope in self.scopes)

    def _verdict_elsewhere(self, page: Page, offset: int) -> Verdict:
        use = self.uses(self.rule.old[0], page).get(offset)
        if self.scopes and all(scope.kind in _LOCAL for scope in self.scopes):
            return self._of_parameter(page, use)
        if use is None:
            return Verdict.OPEN if self._imported(page) else Verdict.REFUSED
        if self._is_of_class and use.kind in ("member", "name") and not self._is_top:
            return Verdict.OPEN if use.kind == "member" else Verdict.REFUSED
        if use.module is not None and use.kind != "path":
            return self._through(use.module, page)
        if use.kind == "member":
            return self._of_module(page, use)
        if use.kind != "name":
            return Verdict.OPEN if use.kind == "path" and self._is_import else Verdict.REFUSED
        if use.bound is None:
            return self._of_unbound(page)
        return self._bound_by(page, self.rule.old[0], use.bound)

    def _bound_by(self, page: Page, name: str, scope: Scope) -> Verdict:
        """The verdict on a name that `scope` of another page binds: REFUSED unless only imports bind it."""
        found = [use for use in self.uses(name, page).values() if use.binds == scope]
        if any(use.module is None for use in found):
            return Verdict.REFUSED
        verdicts = {self._through(use.module or "", page) for use in found}
        if len(verdicts) == 1:
            return verdicts.pop()
        return Verdict.REFUSED if Verdict.CERTAIN not in verdicts else Verdict.OPEN  # an import with a fallback

    def _through(self, module: str, page: Page) -> Verdict:
        """The verdict on a name imported from `module`: it must be the edit's page, or the module this page imports it
        from."""
        family = page.language.family if page.language else ""
        if self._is_top:
            met = imports.meets(module, page.path, family, self.own.path)
        else:
            uses = (*self.edited, *self.old.values())
            mine = {use.module for use in uses if use.module is not None and not use.is_alias}
            met = imports.Meets.MAYBE if any(_same_module(each, module) for each in mine) else imports.Meets.NO
        if met is imports.Meets.YES:
            return Verdict.CERTAIN
        return Verdict.OPEN if met is imports.Meets.MAYBE else Verdict.REFUSED

    def _of_module(self, page: Page, use: Use) -> Verdict:
        """The verdict on a member of a module, or of something unknown."""
        if not self._is_top:
            return Verdict.OPEN if self._is_of_class else Verdict.REFUSED
        owner = re.split(r"\W+", use.of)[-1]
        bound = [each for each in self.uses(owner, page).values() if each.module is not None]
        if owner == self.own.module and self._imported(page):
            family = page.language.family if page.language else ""
            # `from lib import fees` imports the module from a package; `import lib.fees` names it.
            named = [each.module for each in bound if each.module]
            modules = [
                *named,
                *(f"{each.removesuffix('.')}.{owner}" if each.strip(".") else each + owner for each in named),
            ]
            met = {imports.meets(module, page.path, family, self.own.path) for module in modules}
            return Verdict.CERTAIN if imports.Meets.YES in met or not modules else Verdict.OPEN
        if any(self._through(each.module or "", page) is not Verdict.REFUSED for each in bound):
            return Verdict.OPEN  # `import httpx; httpx.unquote`, or a module under another name
        return Verdict.REFUSED

    def _of_unbound(self, page: Page) -> Verdict:
        """The verdict on a name that its page does not bind."""
        if self._is_top:
            if self._is_shared(page) and self._imported(page):
                return Verdict.CERTAIN
            stars = re.findall(r"^from[ \t]+([\w.]+)[ \t]+import[ \t]+\*", page.text, re.MULTILINE)
            verdicts = {self._through(each, page) for each in stars}
            return Verdict.REFUSED if verdicts <= {Verdict.REFUSED} else Verdict.OPEN
        is_free = not any(use.bound for use in self.old.values())
        return Verdict.OPEN if is_free else Verdict.REFUSED

    def _of_parameter(self, page: Page, use: Use | None) -> Verdict:
        """The verdict on a renamed parameter's keyword in calls on another page."""
        if use is None or use.kind != "keyword":
            return Verdict.REFUSED
        called = next((each for each in self.scopes if self._is_called(use.of, each) and not each.owner), None)
        if called is None or "." in use.of:
            return Verdict.REFUSED
        family = page.language.family if page.language else ""
        bound = [each for each in self.uses(use.of, page).values() if each.binds]
        met = {imports.meets(each.module or "", page.path, family, self.own.path) for each in bound if each.module}
        if met != {imports.Meets.YES} or any(each.module is None for each in bound):
            return Verdict.OPEN if met == {imports.Meets.MAYBE} else Verdict.REFUSED
        return Verdict.CERTAIN

    @cached_property
    def _is_top(self) -> bool:
        """Whether other files can import what the edit renamed from the edit's page."""
        is_named = any(scope.kind == "class" and scope.name == self.own.module for scope in self.scopes)
        own = any(use.binds and use.binds.kind == "module" and use.module is None for use in self.edited)
        kept = any(use.binds and use.binds.kind == "module" and use.module is None for use in self.old.values())
        return own or is_named or (not self.scopes and kept)

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
        if self.scopes and all(scope.kind in _LOCAL for scope in self.scopes):
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
        return "another's member" if mine or all(scope.kind in _LOCAL for scope in self.scopes) else "a member"

    def _among_members(self, home: Scope | None, mine: bool) -> str:
        """The relation of a member of the class `home`, or of something unknown, to the members that the edit
        renamed."""
        owners = {each.home for each in self.kinds("member") if each.of in SELF_NAMES}
        if mine and owners:
            return "own member" if home in owners else "another's member"
        return "a member"

    def _of_keyword(self, use: Use) -> str:
        if any(self._is_called(use.of, scope) for scope in self.scopes):
            return "own keyword"
        return "own keyword" if any(each.of == use.of for each in self.kinds("keyword")) else "another's keyword"

    def _of_path(self, use: Use) -> str:
        return "own path" if any(each.of == use.of for each in self.kinds("path")) else "another's path"

    def _is_called(self, called: str, scope: Scope) -> bool:
        """Whether the function that a call names has the name of the scope's function, or of its class."""
        name = called.rpartition(".")[2]
        return bool(name) and name == (scope.owner if scope.name in _CONSTRUCTORS else scope.name)

    def _is_own_call(self, use: Use) -> bool:
        """Whether the call of a keyword certainly calls the function whose parameter was renamed."""
        owner, _, name = use.of.rpartition(".")
        called = next((scope for scope in self.scopes if self._is_called(use.of, scope)), None)
        if called is None:
            return False
        if called.owner and called.name not in _CONSTRUCTORS:
            home = use.home
            return owner in SELF_NAMES and home is not None and home.start <= called.start and called.end <= home.end
        bound = [each for each in self.uses(name, self.own).values() if each.binds]
        return not owner and len(bound) == 1 and bound[0].module is None


def _same_module(one: str, other: str) -> bool:
    """Whether two import statements may mean the same module: `lib.fees` and `.fees`, `./cart` and `../shop/cart`."""
    parts = [[part for part in re.split(r"[./\\]+|::", each) if part] for each in (one, other)]
    shorter, longer = sorted(parts, key=len)
    return bool(shorter) and longer[-len(shorter) :] == shorter
