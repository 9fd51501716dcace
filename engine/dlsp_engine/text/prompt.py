"""Builds the prompt of a gap, in the template that the checkpoint was trained with."""

import re
from dataclasses import dataclass
from pathlib import PurePath

from dlsp_engine.errors import EngineError
from dlsp_engine.text.tokenizer import Tokenizer

LEFT_TO_RIGHT = (
    "This model completes only at the end of a file, since its vocabulary has no fill-in-the-middle tokens; "
    "choose a code model that has them to fill gaps."
)
MAX_HEALED_CHARACTERS = 48
_PARTIAL_WORD = re.compile(rf"(?:\w{{1,{MAX_HEALED_CHARACTERS}}}|[ \t]{{1,{MAX_HEALED_CHARACTERS}}})\Z")


@dataclass(frozen=True)
class File:
    """Another file, which the prompt shows before the gap's own."""

    path: str
    text: str


@dataclass(frozen=True)
class Gap:
    """A range of text to fill: `prefix` and `suffix` are the text before and after the place where typing began (the
    anchor), `middle` is what was typed there since. `files` are other files for the prompt.
    """

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
    """A gap's prompt. `tokens` are to be prefilled. `forced` are bytes before the cursor that `tokens` lacks, so the
    answer must begin with them (token healing).
    """

    tokens: list[int]
    forced: bytes
    behind: tuple[int, ...] = ()  # the tokens behind the gap, if the model sees both sides of it as they are


def prompt(gap: Gap, tokenizer: Tokenizer) -> Prompt:
    """Return the prompt: prefix, suffix, and the middle without its last token, whose bytes are forced (token
    healing). Raises EngineError if the model only writes on from left to right and text stands behind the gap.
    """
    if not tokenizer.template.fim and gap.suffix.strip():
        raise EngineError(LEFT_TO_RIGHT)
    tokens, cut = opening(gap, tokenizer)
    middle = tokenizer.encode(cut + gap.middle)
    return Prompt([*tokens, *middle[:-1]], tokenizer.token_bytes(middle[-1]) if middle else b"")


def prompt_around(gap: Gap, tokenizer: Tokenizer, end: int | None) -> Prompt:
    """Return the prompt for a model that sees the whole text: the text before the gap and that behind it as they are,
    then the token `end` if there is one. Other files are left out.
    """
    cut = _PARTIAL_WORD.search(gap.written, max(0, len(gap.written) - MAX_HEALED_CHARACTERS))
    split = cut.start() if cut else len(gap.written)
    healed = tokenizer.encode(gap.written[split:])
    before = [*tokenizer.template.start, *tokenizer.encode(gap.written[:split]), *healed[:-1]]
    behind = [*tokenizer.encode(gap.suffix), *([] if end is None else [end])]
    forced = tokenizer.token_bytes(healed[-1]) if healed else b""
    return Prompt(before, forced, tuple(behind))


def opening(gap: Gap, tokenizer: Tokenizer) -> tuple[list[int], str]:
    """Return the prompt's tokens up to where the middle begins, and the text that the middle begins with.

    A word or an indentation that the anchor splits in two moves from the prefix into the middle, so that it becomes the
    same tokens as in training.
    """
    cut = _PARTIAL_WORD.search(gap.prefix, max(0, len(gap.prefix) - MAX_HEALED_CHARACTERS))
    split = cut.start() if cut else len(gap.prefix)
    template, path = tokenizer.template, _path(gap)
    before, behind = tokenizer.encode(gap.prefix[:split]), tokenizer.encode(gap.suffix)
    tokens = [*template.start, *_files(gap, tokenizer)]
    if path and template.file is not None:
        inside = template.fim and template.fim.path_inside
        tokens.append(template.file)
        if inside:
            before = [*tokenizer.encode(path), *before]
        else:
            tokens += tokenizer.encode(path)
    tokens += template.fim.around(before, behind) if template.fim else before
    return tokens, gap.prefix[split:]


def _path(gap: Gap) -> str:
    """Return the line with the path of the gap's own file. It is empty without other files, unless the gap's text is
    blank: then its path is all that the model can go by.
    """
    if not gap.files and (not gap.path or (gap.prefix + gap.suffix).strip()):
        return ""
    return f"{PurePath(gap.path).as_posix()}\n"


def _files(gap: Gap, tokenizer: Tokenizer) -> list[int]:
    """Return the tokens of the repository format: a repository name, path and text of each other file. Without a token
    that separates files there are none.
    """
    template, tokens = tokenizer.template, []
    if template.file is None or not _path(gap):
        return []
    if template.repository is not None:
        tokens += [template.repository, *tokenizer.encode("repository\n")]
    for file in gap.files:
        tokens += [template.file, *tokenizer.encode(f"{file.path}\n{file.text.rstrip()}\n")]
    return tokens
