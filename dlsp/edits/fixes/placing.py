"""Where an import goes in a Python file, in the order and the groups that the file's imports have."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from tree_sitter import Node

from dlsp.edits.fixes.imports import Import
from dlsp.edits.history.hunks import Hunk, canonical, lines_of
from dlsp.edits.search.page import Page
from dlsp.syntax.scopes.imports import SOURCE_ROOTS
from dlsp.syntax.scopes.table import text_of
from dlsp.syntax.source import encoded

# A line may be so long, or as long as the longest of the file.
MAX_LINE_CHARACTERS = 88
_STATEMENTS = ("import_statement", "import_from_statement", "future_import_statement")
_INDENTATION = "    "


@dataclass(frozen=True)
class _Statement:
    """An import at the top of a file, from its first row to its last; `group` is of the kinds that isort sorts by."""

    node: Node
    module: str
    group: int

    @property
    def is_from(self) -> bool:
        return self.node.type != "import_statement"

    @property
    def first(self) -> int:
        return self.node.start_point.row

    @property
    def end(self) -> int:
        return self.node.end_point.row + 1


def placed(wanted: Import, page: Page) -> Hunk | None:
    """The change of the page's lines that adds an import: to the statement that imports from the module already, else
    as a statement of its own; None for a text that cannot be parsed.
    """
    tree = page.source.update(page.text) if page.source else None
    if page.source is None or tree is None:
        return None
    content = page.source.bytes
    statements = list(_statements(tree.root_node, content, page))
    modules = [each.module for each in statements if each.is_from]
    is_joined = not wanted.alias and len(set(modules)) == len(modules)  # else each name has a statement of its own here
    same = (each for each in statements if each.is_from and each.module == wanted.module and is_joined)
    joined = next((hunk for each in same if wanted.name and (hunk := _joined(wanted.name, each, page, content))), None)
    if joined:
        return joined
    line = f"from {wanted.module} import {wanted.name}" if wanted.name else f"import {wanted.module}"
    line += f" as {wanted.alias}" if wanted.alias else ""
    row, before, behind = _place(wanted, statements, tree.root_node, page)
    ending = "\r\n" if page.lines and page.lines[0].endswith("\r\n") else "\n"
    return Hunk(row, row, (*[ending] * before, line + ending, *[ending] * behind))


def _statements(root: Node, content: bytes, page: Page) -> Iterator[_Statement]:
    """Yield the imports of a file up to its first function or class, but not those inside of other statements."""
    for node in root.children:
        if node.type in ("function_definition", "class_definition", "decorated_definition"):
            return
        if node.type in _STATEMENTS:
            named = node.child_by_field_name("module_name") or node.child_by_field_name("name")
            inner = named.child_by_field_name("name") if named else None
            module = text_of(inner or named, content) if named else "__future__"
            yield _Statement(node, module, -1 if node.type == "future_import_statement" else _group(module, page))


def _group(module: str, page: Page) -> int:
    """0 for the standard library, 1 for other packages, 2 for the file's own package, 3 for relative imports."""
    folders = [each for each in PurePosixPath(page.path).parent.parts if each not in SOURCE_ROOTS]
    if module.startswith("."):
        return 3
    top = module.partition(".")[0]
    if folders[:1] == [top]:
        return 2
    return 0 if top in sys.stdlib_module_names else 1


def _joined(name: str, statement: _Statement, page: Page, content: bytes) -> Hunk | None:
    """The statement with one name more, in the order that it has; None if it imports all names or others of them
    under new names.
    """
    nodes = statement.node.children_by_field_name("name")
    names = [text_of(each, content) for each in nodes]
    if not nodes or any(each.type != "dotted_name" for each in nodes):
        return None
    at = _rank(name, names)
    is_many = nodes[0].start_point.row > statement.first
    gap = f",\n{_indentation(nodes[0], page)}" if is_many else ", "
    first, last = (len(encoded("".join(page.lines[:row]))) for row in (statement.first, statement.end))
    split = nodes[at].start_byte if at < len(nodes) else nodes[-1].end_byte
    left, right = (part.decode("utf-8", "replace") for part in (content[first:split], content[split:last]))
    made = left + (name + gap if at < len(nodes) else gap + name) + right
    if not is_many and "(" not in made and _is_long(made, page):
        names.insert(at, name)
        head = made[: made.index("import ") + len("import ")]
        made = head + "(\n" + "".join(f"{_INDENTATION}{each},\n" for each in names) + ")\n"
    if "\r\n" in left + right:
        made = made.replace("\r\n", "\n").replace("\n", "\r\n")
    return canonical(Hunk(statement.first, statement.end, tuple(lines_of(made))), page.lines)


def _indentation(node: Node, page: Page) -> str:
    line = page.lines[node.start_point.row]
    return line[: len(line) - len(line.lstrip())]


def _is_long(text: str, page: Page) -> bool:
    longest = max(len(line.rstrip()) for line in page.lines)
    return len(text.rstrip()) > max(MAX_LINE_CHARACTERS, longest)


def _rank(name: str, names: Sequence[str]) -> int:
    """Where a name goes among others: by the order in which these are, at the end if they are in none."""

    def by_kind(each: str) -> tuple[int, str]:
        return (0 if each.isupper() and len(each) > 1 else 1 if each[:1].isupper() else 2), each.casefold()

    def by_letters(each: str) -> tuple[int, str]:
        return 0, each.casefold()

    for key in (by_kind, by_letters):
        if all(key(one) <= key(other) for one, other in pairwise(names)):
            return sum(key(each) <= key(name) for each in names)
    return len(names)


def _place(wanted: Import, statements: Sequence[_Statement], root: Node, page: Page) -> tuple[int, int, int]:
    """The row of a new statement, and how many blank lines go before it and behind it."""
    group = _group(wanted.module, page)
    own = [each for each in statements if each.group == group]
    if own:
        return _in_group(wanted, own), 0, 0
    above = [each for each in statements if each.group < group]
    if above:
        return max(each.end for each in above), 1, 0
    if statements:
        return min(each.first for each in statements), 0, 1
    return _without_imports(root, page)


def _in_group(wanted: Import, own: Sequence[_Statement]) -> int:
    """The row of a new statement among those of its group: `import` lines stand first, if they do so here."""
    is_from = bool(wanted.name)
    if all(not (one.is_from and not other.is_from) for one, other in pairwise(own)):
        alike = [each for each in own if each.is_from == is_from]
        if not alike:
            return own[-1].end if is_from else own[0].first
        own = alike
    before = [each for each in own if _key(each.module) <= _key(wanted.module)]
    return before[-1].end if before else own[0].first


def _key(module: str) -> tuple[int, str]:
    """By this modules are sorted: those furthest up first."""
    return len(module.lstrip(".")) - len(module), module.lstrip(".").casefold()


def _without_imports(root: Node, page: Page) -> tuple[int, int, int]:
    """The place of the first import of a file: behind its docstring, else above its first line of code."""
    code = [each for each in root.children if each.type != "comment"]
    if not code:
        return len(page.lines), 0, 0
    is_documented = code[0].type == "expression_statement" and [each.type for each in code[0].children] == ["string"]
    if is_documented:
        return code[0].end_point.row + 1, 1, 0
    is_definition = code[0].type.endswith("_definition")
    return code[0].start_point.row, 0, 2 if is_definition else 1
