"""dlsp's own format, and what every format says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dlsp_engine.text.prompt import File, Prompt
from dlsp_engine.text.rewrite import Rewrite, rewrite_prompt
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Read:
    """A window's new `text`, as an answer gives it. The answer's characters stand there from `start` on, but for those
    in the ranges `marks`, which are no text of the window.
    """

    text: str
    start: int
    marks: tuple[tuple[int, int], ...] = ()

    def place(self, at: int) -> int:
        """Where the answer's character number `at` stands in the text."""
        return self.start + at - sum(min(end, at) - first for first, end in self.marks if first < at)


class EditFormat:
    """How a model is asked to write a window anew, and how its answer is read.

    `demanded` are the tokens that its prompts need, by their names. `marks` are texts that mean something in its
    prompts and answers: where a window holds one of them by itself, it stays as it is. `stops` are texts that end an
    answer, besides the end token. `ends` says whether the model was trained to end its answer: if not, that ends where
    it has come to the end of the window.
    """

    name = "dlsp"
    demanded: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    ends = False

    def prompt(self, asked: Rewrite, tokenizer: Tokenizer) -> Prompt:
        return rewrite_prompt(asked, tokenizer)

    def draft(self, asked: Rewrite, tokenizer: Tokenizer) -> list[int]:
        """The tokens of the answer, if the window stays as it is."""
        return asked.rest(tokenizer)

    def read(self, asked: Rewrite, answer: str) -> Read:
        """What the window becomes. It stays as it is if marks of the format would get into it."""
        read = self._read(asked, answer)
        if any(mark in asked.text or mark in read.text for mark in self.marks):
            return Read(asked.text, len(asked.kept))
        return read

    def _read(self, asked: Rewrite, answer: str) -> Read:
        return Read(asked.whole(answer), len(asked.kept))


OWN = EditFormat()


def in_tokens(parts: Sequence[str | int], tokenizer: Tokenizer) -> Prompt:
    """The prompt of these texts and tokens. Text between two tokens becomes tokens at once, as in training."""
    tokens, text = [*tokenizer.template.start], ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            tokens += [*tokenizer.encode(text), part]
            text = ""
    return Prompt([*tokens, *tokenizer.encode(text)], b"")


def shown(file: File) -> str:
    """A file's path and text, with one line break at its end."""
    return file.path + "\n" + file.text.rstrip("\n") + "\n"


def behind(asked: Rewrite) -> str:
    """What of the file is shown behind the window, from the line break that ends that, with one at its end."""
    text = asked.text[len(asked.text.rstrip("\n")) :] + asked.suffix
    return text if text.endswith("\n") else text + "\n"


def without(mark: str, answer: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The answer without the mark of the cursor, and the ranges where that stood."""
    found = tuple((one.start(), one.end()) for one in re.finditer(re.escape(mark), answer))
    return answer.replace(mark, ""), found


def with_cursor(asked: Rewrite, mark: str, start: int = 0, end: int | None = None) -> str:
    """The characters `start` to `end` of the window's text, with the mark if the cursor is among them. One in the lines
    that stay counts as at their end where these are no part of what is shown.
    """
    text = asked.body[start:end]
    if asked.cursor is None:
        return text
    at = min(max(asked.cursor, len(asked.kept) if start else 0), len(asked.body) - 1) - start
    return text[:at] + mark + text[at:] if 0 <= at < len(text) else text
