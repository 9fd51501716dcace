"""The parts of the context, each with the reason for including it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from dlsp.context.tokens import head, tokens


class Window(NamedTuple):
    """Prefix and suffix of a gap, with `\\n` line endings."""

    prefix: str
    suffix: str


@dataclass(frozen=True)
class Part:
    """A piece of a file: `path` is relative to the workspace, `row` its first line in the file, from 0."""

    path: str
    row: int
    text: str
    why: str

    @cached_property
    def tokens(self) -> int:
        return tokens(self.text)

    def cut(self, most: int) -> "Part":
        """Its first lines, at most `most` tokens."""
        if self.tokens <= most:
            return self
        kept = self.text[: head(self.text, max(0, most))]
        return replace(self, text=kept[: kept.rfind("\n") + 1])

    def up_to(self, row: int) -> "Part":
        """Its lines before `row` of its file."""
        lines = self.text.split("\n")
        kept = lines[: row - self.row]
        return self if kept == lines else replace(self, text="\n".join(kept) + "\n")


@dataclass(frozen=True)
class Context:
    """The whole context: parts of other files, parts of this file before the gap, and the text after the gap.

    `defined` are names in the gap's whole file, and names that the workspace's files of its language define, where they
    were asked for.
    """

    others: tuple[Part, ...]
    prefix: tuple[Part, ...]
    suffix: Part
    defined: tuple[str, ...] = ()

    @cached_property
    def window(self) -> Window:
        return Window(plain("".join(part.text for part in self.prefix)), plain(self.suffix.text))

    @cached_property
    def files(self) -> list[Mapping[str, str]]:
        """The other files as the engine expects them: one entry per path, its parts in file order."""
        paths = dict.fromkeys(part.path for part in self.others)
        return [{"path": path, "text": plain(self._text(path))} for path in paths]

    def without_end(self, text: str) -> "Context":
        """The same without `text` at the end of the prefix."""
        *above, near = self.prefix
        return replace(self, prefix=(*above, replace(near, text=near.text.removesuffix(text))))

    def _text(self, path: str) -> str:
        parts = sorted((part for part in self.others if part.path == path), key=lambda part: part.row)
        return "\n".join(part.text.rstrip("\n") for part in parts) + "\n"


def plain(text: str) -> str:
    """`text` with `\\n` line endings, and lone surrogates, which UTF-8 cannot encode, replaced."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines.encode("utf-8", "replace").decode("utf-8")
