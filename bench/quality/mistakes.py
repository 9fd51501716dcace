"""Two mistakes that a fill can make whatever the program should do: it repeats the suffix, or breaks the syntax."""

from collections.abc import Iterator
from functools import cache

from tree_sitter import Node, Parser

from bench.quality.sets import Task
from dlsp.syntax.languages import LANGUAGES

TELLING_CHARACTERS = 4  # letters, digits and underscores of a line whose repetition tells something


def repeats_suffix(task: Task, text: str) -> bool:
    """Whether a line of `text` is the first line of the suffix that says something, more often than in the original."""
    following = next((line.strip() for line in task.suffix.split("\n") if _tells(line)), "")
    if not following:
        return False
    mine, original = ([line.strip() for line in of.split("\n")].count(following) for of in (text, task.canonical))
    return mine > original


def breaks_syntax(task: Task, text: str) -> bool:
    """Whether the program with `text` has more syntax errors than with the original."""
    return _errors(task, text) > _errors(task, task.canonical)


def _tells(line: str) -> bool:
    return sum(char.isalnum() or char == "_" for char in line) >= TELLING_CHARACTERS


def _errors(task: Task, text: str) -> int:
    source = f"{task.prefix}{text}{task.suffix}".encode("utf-8", "surrogatepass")
    return sum(node.is_error or node.is_missing for node in _nodes(_parser(task.language).parse(source).root_node))


def _nodes(root: Node) -> Iterator[Node]:
    """The node and those below it that hold errors."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in node.children if child.has_error or child.is_missing]


@cache
def _parser(language: str) -> Parser:
    return next(one for one in LANGUAGES if one.name == language).parser()
