"""The cases of a seed, from the files of installed packages."""

import random
import re
from collections.abc import Callable, Iterator
from itertools import islice

from tree_sitter import Node

from bench.edits.reported.case import PYTHON, Case
from dlsp.edits.history.hunks import lines_of
from dlsp.edits.search.calls import Parts, lists
from dlsp.syntax.scopes.names import Names, Use
from dlsp.syntax.scopes.table import text_of
from dlsp.syntax.source import Source

# Names of so many letters are misspelled, or begun.
LEAST_LETTERS = 5
# The most cases of a kind that are taken from one file, and its characters: Pyright takes seconds for a long one.
PER_FILE, MAX_CHARACTERS = 2, 25_000
_STATEMENTS = ("expression_statement", "return_statement", "assert_statement", "raise_statement")
_PLAIN = ("identifier", "typed_parameter")  # parameters that need an argument
_WORD = re.compile(r"[^\W\d]\w*")


class File:
    """A file of a package with its syntax tree."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        source = Source(PYTHON, None)
        tree = source.update(text)
        assert tree
        self.root, self.content = tree.root_node, source.bytes
        self.names, self.lines = Names(source, text), lines_of(text)

    def without(self, first: int, end: int) -> str:
        return "".join(self.lines[:first] + self.lines[end:])

    def statements(self) -> Iterator[Node]:
        """Yield the statements inside functions that are a line of their own."""
        stack = [(self.root, False)]
        while stack:
            node, is_inside = stack.pop()
            row = self.lines[node.start_point.row].strip() if node.type in _STATEMENTS else ""
            if is_inside and row and row == text_of(node, self.content):
                yield node
            stack += [(each, is_inside or node.type == "function_definition") for each in node.children]

    def used(self, statement: Node) -> Iterator[tuple[str, int, Use]]:
        """Yield the names that a line uses, with their offsets."""
        start = sum(map(len, self.lines[: statement.start_point.row]))
        for match in _WORD.finditer(self.lines[statement.start_point.row]):
            use = self.names.uses(match[0]).get(start + match.start())
            if use and use.kind == "name" and use.bound and use.binds is None and use.module is None:
                yield match[0], start + match.start(), use


def parses(text: str) -> bool:
    """Whether a file has no syntax error."""
    tree = Source(PYTHON, None).update(text)
    return tree is not None and not tree.root_node.has_error


def imports(file: File, chance: random.Random) -> Iterator[Case]:
    """Yield uses whose import is missing: a line or a function is written, and the file lacks what it alone needs."""
    statements = [each for each in file.root.children if each.type in ("import_statement", "import_from_statement")]
    chance.shuffle(statements)
    for statement in statements:
        nodes = statement.children_by_field_name("name")
        for node in nodes:
            name = text_of(node.child_by_field_name("alias") or node, file.content).partition(".")[0]
            unit = _user(file, name)
            if unit is None:
                continue
            truth, row = file.text, statement.end_point.row + 1
            lacking = _lacking(file, statement, node)
            # The unit stands below, and its rows move up by those that the import loses.
            gone = len(file.lines) - len(lines_of(lacking))
            lines = lines_of(lacking)
            before = "".join(lines[: unit[0] - gone] + lines[unit[1] - gone :])
            if unit[0] >= row and parses(before) and parses(lacking):
                yield Case(f"{file.path}: {name}", "import", file.path, before, lacking, truth)


def _user(file: File, name: str) -> tuple[int, int] | None:
    """The rows of the line, or else of the function or class, that alone uses an imported name."""
    uses = file.names.uses(name)
    inside = [at for at, use in uses.items() if use.binds is None]
    words = [match.start() for match in re.finditer(rf"\b{re.escape(name)}\b", file.text)]
    if not inside or len(words) != len(uses) or len(uses) != len(inside) + 1:
        return None
    rows = {file.text.count("\n", 0, at) for at in inside}
    lines = {each.start_point.row for each in file.statements()} if len(rows) == 1 else set[int]()
    if rows <= lines:
        return min(rows), min(rows) + 1
    for each in file.root.children:
        if each.type.endswith("_definition") and each.start_point.row <= min(rows) <= max(rows) <= each.end_point.row:
            return each.start_point.row, each.end_point.row + 1
    return None


def _lacking(file: File, statement: Node, node: Node) -> str:
    """The file without one name of an import."""
    if len(statement.children_by_field_name("name")) == 1:
        first, end = statement.start_point.row, statement.end_point.row + 1
        is_alone = not "".join(file.lines[max(0, first - 1) : first] + file.lines[end : end + 1]).strip()
        return file.without(first, end + is_alone)
    row = file.lines[node.start_point.row].strip().rstrip(",")
    if row == text_of(node, file.content):
        return file.without(node.start_point.row, node.start_point.row + 1)
    start, end = node.start_byte, node.end_byte
    left, right = file.content[:start], file.content[end:]
    if right.startswith(b", "):
        return (left + right[2:]).decode()
    return (left.removesuffix(b", ") + right).decode()


def names(file: File, chance: random.Random) -> Iterator[Case]:
    """Yield lines in which one name is misspelled."""
    yield from _renamed(file, chance, "name", lambda name, _: _misspelled(name, chance))


def begun(file: File, chance: random.Random) -> Iterator[Case]:
    """Yield lines that end in the middle of a name."""

    def cut(name: str, rest: str) -> str | None:
        return None if rest.strip() else name[: -chance.choice((1, 2))]

    yield from _renamed(file, chance, "begun", cut)


def fresh(file: File, chance: random.Random, words: list[str]) -> Iterator[Case]:
    """Yield lines with a name that nothing has yet."""
    yield from _renamed(file, chance, "fresh", lambda *_: chance.choice(words))


def _renamed(file: File, chance: random.Random, kind: str, new: Callable[[str, str], str | None]) -> Iterator[Case]:
    """Yield lines that were written with another name in place of one of theirs; `new` gives it from the name and the
    rest of its line.
    """
    statements = list(file.statements())
    chance.shuffle(statements)
    for statement in statements:
        row = statement.start_point.row
        start, line = sum(map(len, file.lines[:row])), file.lines[row]
        used = [each for each in file.used(statement) if len(each[0]) >= LEAST_LETTERS]
        chance.shuffle(used)
        for name, at, _ in used:
            other = new(name, line[at - start + len(name) :])
            if not other or re.search(rf"\b{re.escape(other)}\b", file.text) or not other.isidentifier():
                continue
            written = line[: at - start] + other + line[at - start + len(name) :]
            after = "".join([*file.lines[:row], written, *file.lines[row + 1 :]])
            before = file.without(row, row + 1)
            if parses(before) and parses(after):
                truth = file.text if kind == "name" else after
                yield Case(f"{file.path}:{row + 1}: {other}", kind, file.path, before, after, truth)
                break


def _misspelled(name: str, chance: random.Random) -> str:
    """A name with one letter missing, doubled, wrong, or exchanged with the next one."""
    at = chance.randrange(1, len(name) - 1)
    wrong = chance.choice([each for each in "aeiorstn" if each != name[at]])
    return chance.choice(
        (
            name[:at] + name[at + 1 :],
            name[:at] + name[at] + name[at:],
            name[:at] + wrong + name[at + 1 :],
            name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        )
    )


def arguments(file: File, chance: random.Random) -> Iterator[Case]:
    """Yield calls that got an argument which the other calls of the file lack, after the function got a parameter."""
    found: dict[str, list[Parts]] = {}
    for name, parts in lists(file.root, file.content, 0, len(file.content)):
        found.setdefault(name, []).append(parts)
    items = list(found.items())
    chance.shuffle(items)
    for name, parts in items:
        definitions, calls = ([each for each in parts if each.is_call is is_call] for is_call in (False, True))
        count = len(definitions[0].texts) - definitions[0].receivers if len(definitions) == 1 else 0
        if not count or any(each.type not in _PLAIN for each in definitions[0].nodes) or not _are_plain(calls, count):
            continue
        edited = chance.choice(calls)
        before, after = (_cut(file, [each for each in calls if each is not kept], count - 1) for kept in (None, edited))
        # What the other calls are given can only be known where it is the same.
        same = [each for each in calls if each.texts[-1] == edited.texts[-1]]
        truth = _cut(file, [each for each in calls if each not in same], count - 1)
        if len(same) > 1 and parses(before) and parses(after):
            yield Case(f"{file.path}: {name}()", "argument", file.path, before, after, truth)


def _are_plain(calls: list[Parts], count: int) -> bool:
    """Whether all of several calls give so many arguments by position, each in a line of its own."""
    rows = [each.node.start_point.row for each in calls]
    is_plain = all(len(each.texts) == count and not re.search("[=*]", "".join(each.texts)) for each in calls)
    is_short = all(each.node.end_point.row == row for each, row in zip(calls, rows, strict=True))
    return len(calls) > 1 and is_plain and is_short and len(set(rows)) == len(rows)


def _cut(file: File, calls: list[Parts], index: int) -> str:
    """The file without one argument of these calls."""
    content = file.content
    for each in sorted(calls, key=lambda call: -call.node.start_byte):
        start = each.nodes[index - 1].end_byte if index else each.nodes[index].start_byte
        content = content[:start] + content[each.nodes[index].end_byte :]
    return content.decode()


def cases(files: dict[str, str], words: list[str], chance: random.Random, number: int) -> Iterator[Case]:
    """Yield up to `number` cases of each kind from the files of a package; `words` are names of other packages."""
    own = {word for text in files.values() for word in _WORD.findall(text)}
    foreign = [each for each in words if each not in own]

    def new(file: File, chance: random.Random) -> Iterator[Case]:
        return fresh(file, chance, foreign)

    for make in (imports, names, arguments, new, begun):
        paths = [path for path, text in files.items() if len(text) <= MAX_CHARACTERS and parses(text)]
        chance.shuffle(paths)
        made = (case for path in paths for case in islice(make(File(path, files[path]), chance), PER_FILE))
        yield from islice(made, number)
