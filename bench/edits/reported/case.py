"""One case, and what an answer to it is worth."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node, Tree

from bench.edits.traps.trap import PatientPage
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk, applied, hunks, lines_of
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.search.page import Error, Page
from dlsp.syntax import languages
from dlsp.syntax.scopes.table import text_of
from dlsp.syntax.source import Source

PYTHON = languages.LANGUAGES[0]


@dataclass(frozen=True)
class Case:
    """The user changed the file `path` from `before` to `after`; `truth` is what it should become."""

    id: str
    kind: str
    path: str
    before: str
    after: str
    truth: str

    @property
    def edit(self) -> Edit:
        return Edit.between(self.path, self.before, self.after)

    def page(self, errors: Iterable[tuple[int, str]] = ()) -> Page:
        """The file as the user sees it, with what is reported of it."""
        told = tuple(Error(*each) for each in errors)
        return PatientPage(self.path, self.path, self.after, PYTHON, tuple(self.edit.ranges()), errors=told)

    @cached_property
    def wanted(self) -> frozenset[Hunk]:
        """The lines that should change; a missing import is one change, wherever it goes."""
        found = hunks(lines_of(self.after), lines_of(self.truth))
        return frozenset(found) if self.kind == "import" else frozenset(each for hunk in found for each in _rows(hunk))

    def is_right(self, hunk: Hunk) -> bool:
        """Whether a change is wanted: an import if the file then has the imports that it should have."""
        if self.kind == "import":
            made = "".join(applied(lines_of(self.after), [hunk]))
            return imports(made) == imports(self.truth)
        return all(each in self.wanted for each in _rows(hunk))


@dataclass(frozen=True)
class Outcome:
    """The changes that were offered for a case; `is_exact` if with them the file is what it should be, `is_worse` if
    then more is reported of it than before."""

    case: Case
    offered: tuple[Hunk, ...]
    is_exact: bool
    is_worse: bool

    @property
    def right(self) -> int:
        return sum(self.case.is_right(each) for each in self.offered)

    @property
    def found(self) -> int:
        """How many of the wanted changes are offered."""
        if self.case.kind == "import":
            return min(self.right, len(self.case.wanted))
        return len({row for each in self.offered for row in _rows(each)} & self.case.wanted)


def outcome(case: Case, found: Sequence[Proposal], is_worse: bool) -> Outcome:
    """Judge the proposals for a case."""
    offered = tuple(each.hunk for each in found)
    return Outcome(case, offered, "".join(applied(lines_of(case.after), offered)) == case.truth, is_worse)


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The numbers of a group of cases."""
    offered = sum(len(each.offered) for each in outcomes)
    right, wanted = sum(each.right for each in outcomes), sum(len(each.case.wanted) for each in outcomes)
    return {
        "cases": len(outcomes),
        "wanted": wanted,
        "offered": offered,
        "right": right,
        "precision": right / max(1, offered),
        "share_offered": sum(each.found for each in outcomes) / max(1, wanted),
        "exact": sum(each.is_exact for each in outcomes),
        "worse": sum(each.is_worse for each in outcomes),
    }


def imports(text: str) -> Counter[tuple[str, ...]]:
    """What a file imports, anywhere in it: modules, names and new names."""
    found: Counter[tuple[str, ...]] = Counter()
    content, stack = text.encode(), [_tree(text).root_node]
    while stack:
        node = stack.pop()
        if node.type in ("import_statement", "import_from_statement"):
            module = node.child_by_field_name("module_name")
            found.update((text_of(module, content) if module else "", *name) for name in _named(node, content))
        stack += node.children
    return found


def _named(statement: Node, content: bytes) -> Iterator[tuple[str, str]]:
    for each in statement.children_by_field_name("name"):
        name, alias = each.child_by_field_name("name") or each, each.child_by_field_name("alias")
        yield text_of(name, content), text_of(alias, content) if alias else ""


def _tree(text: str) -> Tree:
    tree = Source(PYTHON, None).update(text)
    assert tree
    return tree


def _rows(hunk: Hunk) -> Iterator[Hunk]:
    """The lines of a change one by one, if there are as many as before."""
    if hunk.end - hunk.start != len(hunk.lines):
        yield hunk
        return
    yield from (Hunk(row, row + 1, (line,)) for row, line in enumerate(hunk.lines, hunk.start))
