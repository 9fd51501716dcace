"""Whether a rename must follow at a place, by scopes, imports and declared types."""

import builtins
import re
import time
from collections.abc import Mapping
from enum import Enum
from functools import cached_property

from dlsp.edits.search.page import Page
from dlsp.edits.search.rules import alike, by_words
from dlsp.edits.search.standing import CONSTRUCTORS, LOCAL, SELF_NAMES, Standing
from dlsp.syntax.scopes import imports
from dlsp.syntax.scopes.names import DEFAULT, Names, Scope, Use
from dlsp.syntax.source import encoded

# The most pages that pass an import on.
MAX_PASSED = 3
# An import of all names of a module.
_STAR = re.compile(
    r"""^from[ \t]+([\w.]+)[ \t]+import[ \t]+\*|^export[ \t]*\*[ \t]*from[ \t]*["']([^"'\n]+)["']""", re.MULTILINE
)
# The beginning of a test function, up to one of its parameters.
_TEST = re.compile(rb"(?:async\s+)?def\s+test\w*\s*\([^()]*")


class Verdict(Enum):
    """What scopes and imports alone say about a place where the rename might follow."""

    CERTAIN = "the name there is the one that the edit renamed"
    LIKELY = "declared types say so, which is no proof"
    EVEN = "such places follow as often as not"
    OPEN = "it may be; the evidence and the model decide"
    REFUSED = "the name there is another one"


# Relations in which the name is known to be a different one.
_REFUSED_STANDINGS = (
    *("out of reach", "another meaning", "another's member", "another's keyword", "another's path"),
    *("of another kind", "prose out of reach"),
)


class Binding(Standing):
    """Tells which places are bound to what the edit renamed."""

    def verdict(self, page: Page, offset: int) -> Verdict:
        """Whether the edit must follow at this place (CERTAIN), must not (REFUSED), or may (the others)."""
        found = self.meaning(page, offset)
        if found is Verdict.CERTAIN and not self._is_safe(page, self.uses(self.rule.old[0], page).get(offset)):
            found = Verdict.OPEN
        if found is Verdict.CERTAIN and any(each.names and self._is_part(each.names) for each in (page, self.own)):
            found = Verdict.LIKELY
        return Verdict.REFUSED if found is Verdict.OPEN and self.is_key(page, offset) else found

    def _is_part(self, names: Names) -> bool:
        """Whether a page may lack some of what the name means: its text is one parse error and the name is not a local
        one, or the text begins inside the class whose member was renamed.
        """
        is_local = bool(self.scopes) and all(scope.kind in LOCAL for scope in self.scopes)
        return (names.is_broken and not is_local) or names.outer in self.scopes

    def meaning(self, page: Page, offset: int) -> Verdict:
        """Whether the name at this place is the one that the edit changed, whatever its new name means there."""
        is_blind = any(each.names is not None and each.names.is_blind for each in (page, self.own))
        if self.is_unfinished or is_blind or time.monotonic() > self._until:
            return Verdict.REFUSED
        if (told := page.told.get(offset)) is not None:
            return Verdict.CERTAIN if told else Verdict.REFUSED
        if not self.edited:
            return Verdict.OPEN
        found = self._verdict_here(offset) if page is self.own else self._verdict_elsewhere(page, offset)
        use = self.uses(self.rule.old[0], page).get(offset)
        if found is Verdict.OPEN and use and use.kind == "member":
            found = self._of_receiver(page, use, offset)
        return found

    def _verdict_here(self, offset: int) -> Verdict:
        """The verdict on a place of the edit's own page."""
        standing = self.at(self.own, offset)
        if standing == "out of reach" and self._is_fixture(self.old[offset].bound):
            return Verdict.EVEN
        if standing in _REFUSED_STANDINGS or (standing == "a member" and not self._is_of_class):
            return Verdict.REFUSED
        if standing == "prose in reach" and self._is_documented(offset):
            return Verdict.LIKELY
        is_bound = bool(self.scopes) and standing in ("follows", "bound again", "own member", "own keyword")
        is_bound = is_bound and (standing != "own keyword" or self._is_own_call(self.old[offset]))
        # An edit that changed an import may have replaced one thing by a different one.
        return Verdict.CERTAIN if is_bound and not self._is_import else Verdict.OPEN

    def _is_fixture(self, bound: Scope | None) -> bool:
        """Whether the edit renamed a parameter of a test function, and one of another test function binds the name:
        pytest gives to both what has that name."""
        renamed = bool(self.scopes) and all(self._is_given(self.new, scope) for scope in self.scopes)
        return renamed and bound is not None and self._is_given(self.old, bound)

    def _is_given(self, uses: Mapping[int, Use], scope: Scope) -> bool:
        """Whether the scope is a test function, and one of its parameters binds the name."""
        first = min((offset for offset, use in uses.items() if use.binds == scope), default=0)
        head = encoded(self.own.text)[scope.start : len(encoded(self.own.text[:first]))]
        return scope.kind == "function" and _TEST.fullmatch(head) is not None

    def _is_safe(self, page: Page, use: Use | None) -> bool:
        """Whether the new name would mean the renamed thing at this place: the edit did nothing but rename, and nothing
        there has the new name already."""
        if not self.rule.only or self.is_taken:
            return False
        taken = {
            each.binds
            for at, each in self.uses(self.rule.new, page).items()
            if each.binds and not (page is self.own and page.is_edited_at(at))
        }
        return use is None or use.kind != "name" or not any(scope in taken for scope in use.scopes)

    def _is_documented(self, offset: int) -> bool:
        """Whether a doc comment describes the name here as a parameter."""
        row = self.own.row(offset)
        return re.search(r"[@:\\]param\b", self.own.text[self.own.starts[row] : offset]) is not None

    def _of_receiver(self, page: Page, use: Use, offset: int) -> Verdict:
        """The verdict on a member of a class, or of a variable: LIKELY if that class's member was renamed, or that of
        its declared type."""
        around = (scope.name for scope in use.scopes if scope.kind == "function")
        if use.of not in SELF_NAMES and any(name in (self.rule.old[0], self.rule.new) for name in around):
            return Verdict.REFUSED  # a method that calls another object's method of the same name
        classes = {scope.name for scope in self.scopes if scope.kind == "class"} | {each.type for each in self.edited}
        classes |= {each.home.name for each in self.kinds("member") if each.home and each.of in SELF_NAMES}
        types = {use.of, *(each.type for each in self._bindings(page, use.of, offset))}
        if types & (classes - {""}):
            return Verdict.LIKELY
        is_other = self._is_module(page, use, offset) or self._has_other_members
        return Verdict.REFUSED if is_other else Verdict.OPEN

    def _is_module(self, page: Page, use: Use, offset: int) -> bool:
        """Whether a member is one of a module, though the edit renamed a member of a class."""
        imported = any(each.module is not None for each in self._bindings(page, use.of, offset))
        return self._is_of_class and imported and any(each.module == use.of for each in self.pages)

    @cached_property
    def _has_other_members(self) -> bool:
        """Whether another class than the edit's has a member of that name."""
        mine = {*self.scopes, *(each.home for each in self.kinds("member") if each.of in SELF_NAMES)}
        bound = (each.binds for page in self.pages for each in self.uses(self.rule.old[0], page).values())
        return any(scope and scope.kind == "class" and scope not in mine for scope in bound)

    def is_key(self, page: Page, offset: int) -> bool:
        """Whether the name at a place is the value and the key at once, as in `{name}`: the key must stay."""
        use = self.uses(self.rule.old[0], page).get(offset)
        return use is not None and use.is_shorthand and use.binds is None

    @cached_property
    def is_unfinished(self) -> bool:
        """Whether the new name is still being typed or mistyped, so that no site should follow.

        A real new name that is similar to the old one and only used in the edit must be bound or used elsewhere too,
        or be made of whole words where the old one is not bound here either. A member that lost several letters at its
        end is being deleted.
        """
        if self.scopes or not self.edited or self._is_import:
            return False
        if all(use.kind == "member" for use in self.edited):
            return self.rule.old[0].startswith(self.rule.new) and len(self.rule.old[0]) - len(self.rule.new) > 1
        if any(use.kind != "name" for use in self.edited):
            return False
        known = any(use.bound or not self.own.is_edited_at(at) for at, use in self.new.items())
        is_new = not known and len(self.edited) == 1 and not self._is_builtin(self.rule.new)
        if not is_new or not alike(self.rule.old[0], self.rule.new):
            return False
        is_foreign = bool(self.old) and not any(use.bound for use in self.old.values())
        is_foreign = is_foreign and not self._is_builtin(self.rule.old[0])
        return not is_foreign or not by_words(self.rule.old[0], self.rule.new)

    def _is_builtin(self, name: str) -> bool:
        """Whether Python itself has the name."""
        return self.own.language is not None and self.own.language.name == "python" and hasattr(builtins, name)

    @cached_property
    def _is_import(self) -> bool:
        return any(use.module is not None for use in self.edited)

    @cached_property
    def _is_of_class(self) -> bool:
        """Whether the edit renamed a member of a class or object."""
        return bool(self.kinds("member")) or any(scope.kind == "class" for scope in self.scopes)

    def _verdict_elsewhere(self, page: Page, offset: int) -> Verdict:
        use = self.uses(self.rule.old[0], page).get(offset)
        if self.scopes and all(scope.kind in LOCAL for scope in self.scopes):
            return self._of_parameter(page, use)
        if use is None:
            return Verdict.OPEN if self._imported(page) else Verdict.REFUSED
        if self._is_of_class and use.kind in ("member", "name") and not self._is_top:
            return Verdict.OPEN if use.kind == "member" else Verdict.REFUSED
        if use.module is not None and use.kind != "path":
            return self._through(use, page)
        if use.kind == "member":
            return self._of_module(page, use, offset)
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
        verdicts = {self._through(use, page) for use in found}
        if len(verdicts) == 1:
            return verdicts.pop()
        return Verdict.REFUSED if Verdict.CERTAIN not in verdicts else Verdict.OPEN  # an import with a fallback

    def _through(self, use: Use, page: Page, passed: int = 0) -> Verdict:
        """The verdict on a name that a page imports: from the edit's page, through `passed` other pages, or from where
        the edit's page has it."""
        module, family = use.module or "", page.language.family if page.language else ""
        if not self._is_top:
            uses = (*self.edited, *self.old.values())
            mine = {each.module for each in uses if each.module is not None and not each.is_alias}
            return Verdict.OPEN if any(_same_module(each, module) for each in mine) else Verdict.REFUSED
        if use.is_alias and not self._is_original(use):
            return Verdict.REFUSED
        met = imports.meets(module, page.path, family, self.own.path)
        if met is imports.Meets.YES:
            return Verdict.CERTAIN
        for other in self.pages if passed < MAX_PASSED else ():
            is_there = other is not page and imports.meets(module, page.path, family, other.path) is imports.Meets.YES
            if is_there and other is not self.own:
                return self._passed_on(other, passed + 1)
        return Verdict.OPEN if met is imports.Meets.MAYBE else Verdict.REFUSED

    def _passed_on(self, page: Page, passed: int) -> Verdict:
        """The verdict on the name as other pages import it from this one."""
        uses = self.uses(self.rule.old[0], page).values()
        if any(use.binds and use.binds.kind == "module" and use.module is None for use in uses):
            return Verdict.REFUSED
        verdicts = {self._through(use, page, passed) for use in uses if use.module is not None and use.kind != "path"}
        return verdicts.pop() if len(verdicts) == 1 else Verdict.OPEN if verdicts else self._of_star(page, passed)

    def _is_original(self, use: Use) -> bool:
        """Whether an alias is called the same in its module, or stands for the module's default export, the renamed
        thing."""
        names = rf"(?:{re.escape(self.rule.old[0])}|{re.escape(self.rule.new)})\b"
        default = rf"\bexport\s+default\s+(?:(?:async|abstract|function\*?|class)\s+)*{names}|\bexports\s*=\s*{names}"
        if use.imported == DEFAULT:
            return re.search(default, self.own.text) is not None
        return use.imported in (self.rule.old[0], self.rule.new)

    def _of_star(self, page: Page, passed: int = 0) -> Verdict:
        """The verdict on a name that a page may have by an import of all names of a module."""
        found: set[Verdict] = set()
        for match in _STAR.finditer(page.text):
            use = Use("name", "", (), None, None, None, match[1] or match[2])
            found.add(self._through(use, page, passed))
        if Verdict.CERTAIN in found or Verdict.LIKELY in found:
            return Verdict.LIKELY  # another of them may have the name too
        return Verdict.OPEN if Verdict.OPEN in found else Verdict.REFUSED

    def _of_module(self, page: Page, use: Use, offset: int) -> Verdict:
        """The verdict on a member of a module, or of something unknown."""
        if not self._is_top:
            return Verdict.OPEN if self._is_of_class else Verdict.REFUSED
        owner = re.split(r"\W+", use.of)[-1]
        head = re.split(r"\W+", use.of)[0]
        if any(each.module is None for each in self._bindings(page, head, offset)):
            return Verdict.REFUSED  # a variable
        bound = [each for each in self.uses(owner, page).values() if each.module is not None]
        if owner == self.own.module and self._imported(page):
            family = page.language.family if page.language else ""
            # `from lib import fees` imports the module from a package; `import lib.fees` names it.
            named = [each.module for each in bound if each.module]
            below = [f"{each}.{owner}" if each.strip(".") else each + owner for each in named]
            met = {imports.meets(module, page.path, family, self.own.path) for module in (*named, *below)}
            return Verdict.CERTAIN if imports.Meets.YES in met or not named else Verdict.OPEN
        family = page.language.family if page.language else ""
        met = {imports.meets(each.module or "", page.path, family, self.own.path) for each in bound}
        # `import httpx; httpx.unquote`, or a module under another name.
        return Verdict.OPEN if met - {imports.Meets.NO} else Verdict.REFUSED

    def _bindings(self, page: Page, name: str, offset: int) -> list[Use]:
        """The places that bind a name as it stands right before an offset."""
        found = self.uses(name, page)
        at = max((at for at in found if at < offset), default=None)
        bound = found[at].bound if at is not None else None
        return [each for each in found.values() if each.binds == bound] if bound else []

    def _of_unbound(self, page: Page) -> Verdict:
        """The verdict on a name that its page does not bind."""
        if self._is_top:
            if self._is_shared(page) and self._imported(page):
                return Verdict.CERTAIN
            return self._of_star(page)
        is_free = not any(use.bound for use in self.old.values())
        return Verdict.OPEN if is_free else Verdict.REFUSED

    def _of_parameter(self, page: Page, use: Use | None) -> Verdict:
        """The verdict on a renamed parameter's keyword in calls on another page."""
        if use is None or use.kind != "keyword":
            return Verdict.REFUSED
        of_name = (scope for scope in self.scopes if not scope.owner or scope.name in CONSTRUCTORS)
        called = next((each for each in of_name if self._is_called(use.of, each)), None)
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

    def _is_own_call(self, use: Use) -> bool:
        """Whether the call of a keyword certainly calls the function whose parameter was renamed."""
        owner, _, name = use.of.rpartition(".")
        called = next((scope for scope in self.scopes if self._is_called(use.of, scope)), None)
        if called is None:
            return False
        if called.owner and called.name not in CONSTRUCTORS:
            home = use.home
            return owner in SELF_NAMES and home is not None and home.start <= called.start and called.end <= home.end
        bound = [each for each in self.uses(name, self.own).values() if each.binds]
        return not owner and len(bound) == 1 and bound[0].module is None


def _same_module(one: str, other: str) -> bool:
    """Whether two import statements may mean the same module: `lib.fees` and `.fees`, `./cart` and `../shop/cart`."""
    parts = [[part for part in re.split(r"[./\\]+|::", each) if part] for each in (one, other)]
    shorter, longer = sorted(parts, key=len)
    return bool(shorter) and longer[-len(shorter) :] == shorter
