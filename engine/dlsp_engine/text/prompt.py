"""The fill-in-the-middle prompt, in the template the base was trained with."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from dlsp_engine.text.tokenizer import Tokenizer

PARTIAL = 48
_PARTIAL = re.compile(rf"(?:\w{{1,{PARTIAL}}}|[ \t]{{1,{PARTIAL}}})\Z")


@dataclass(frozen=True)
class File:
    """Another file that the model sees before the gap's own."""

    path: str
    text: str


@dataclass(frozen=True)
class Gap:
    """A range of text to fill: what stands before and after it, and what was typed since the anchor."""

    prefix: str
    suffix: str
    middle: str = ""
    path: str = ""
    files: tuple[File, ...] = ()
    session: str | None = None

    @property
    def written(self) -> str:
        """All text before the cursor."""
        return self.prefix + self.middle


@dataclass(frozen=True)
class Prompt:
    """`tokens` is everything known; `forced` are the bytes that the answer must begin with and that stand already."""

    tokens: list[int]
    forced: bytes


def prompt(gap: Gap, tokenizer: Tokenizer) -> Prompt:
    """P, S and the middle, the middle's last token given back (token healing)."""
    tokens, cut = opening(gap, tokenizer)
    middle = tokenizer.encode(cut + gap.middle)
    return Prompt([*tokens, *middle[:-1]], tokenizer.token_bytes(middle[-1]) if middle else b"")


def opening(gap: Gap, tokenizer: Tokenizer) -> tuple[list[int], str]:
    """The prompt up to where the middle begins, and what the middle begins with.

    A word or an indentation that the anchor cuts in two moves from the prefix into the middle, so that the model
    sees tokens as it was trained on them.
    """
    cut = _PARTIAL.search(gap.prefix, max(0, len(gap.prefix) - PARTIAL))
    split = cut.start() if cut else len(gap.prefix)
    tokens = [
        *_files(gap, tokenizer),
        tokenizer.prefix,
        *tokenizer.encode(gap.prefix[:split]),
        tokenizer.suffix,
        *tokenizer.encode(gap.suffix),
        tokenizer.middle,
    ]
    return tokens, gap.prefix[split:]


def _files(gap: Gap, tokenizer: Tokenizer) -> list[int]:
    """The repository format: a name, then path and text of each file, the gap's own path last.

    Without other files there is only the gap, unless that is blank: then its path is all there is to go on.
    """
    if not gap.files and (not gap.path or (gap.prefix + gap.suffix).strip()):
        return []
    tokens = [tokenizer.repository, *tokenizer.encode("repository\n")]
    for file in gap.files:
        tokens += [tokenizer.file, *tokenizer.encode(f"{file.path}\n{file.text.rstrip()}\n")]
    return [*tokens, tokenizer.file, *tokenizer.encode(f"{PurePath(gap.path).as_posix()}\n")]
