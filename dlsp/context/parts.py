"""What the model sees, piece by piece, each with the reason why it is there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from dlsp.context.tokens import head, tokens


class Window(NamedTuple):
    """Prefix and suffix of a gap, with `\\n` at the line ends."""

    prefix: str
    suffix: str


@dataclass(frozen=True)
class Part:
    """A piece of text; `path` as the workspace sees it, `row` where it starts in its file, from 0."""

    path: str
    row: int
    text: str
    why: str

    @cached_property
    def tokens(self) -> int:
        return tokens(self.text)

    def cut(self, most: int) -> "Part":
        """Its first lines, so many tokens at the most."""
        if self.tokens <= most:
            return self
        kept = self.text[: head(self.text, max(0, most))]
        return replace(self, text=kept[: kept.rfind("\n") + 1])

    def up_to(self, row: int) -> "Part":
        """Its lines before a row of its file."""
        lines = self.text.split("\n")
        kept = lines[: row - self.row]
        return self if kept == lines else replace(self, text="\n".join(kept) + "\n")


@dataclass(frozen=True)
class Context:
    """All of it: parts of other files, of the file before the gap in their order, and the text after it."""

    others: tuple[Part, ...]
    prefix: tuple[Part, ...]
    suffix: Part

    @cached_property
    def window(self) -> Window:
        return Window(plain("".join(part.text for part in self.prefix)), plain(self.suffix.text))

    @cached_property
    def files(self) -> list[Mapping[str, str]]:
        """The other files as the engine takes them: each path once, its parts in the file's order."""
        paths = dict.fromkeys(part.path for part in self.others)
        return [{"path": path, "text": plain(self._text(path))} for path in paths]

    def _text(self, path: str) -> str:
        parts = sorted((part for part in self.others if part.path == path), key=lambda part: part.row)
        return "\n".join(part.text.rstrip("\n") for part in parts) + "\n"


def plain(text: str) -> str:
    """`text` with `\\n` at the line ends and nothing that UTF-8 cannot carry (lone surrogates)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines.encode("utf-8", "replace").decode("utf-8")
