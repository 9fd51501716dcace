"""The format of Sweep's next-edit models, which are Qwen2.5-Coder's, trained further."""

from dlsp_engine.text.edit_formats.diffs import Hunk, hunks
from dlsp_engine.text.edit_formats.own import EditFormat, Read, in_tokens, shown, with_cursor, without
from dlsp_engine.text.prompt import Prompt
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import Tokenizer

FILE = "<|file_sep|>"
CURSOR = "<|cursor|>"  # is text, as it was in training
AROUND_LINES = 1  # unchanged lines on each side of an edit


class Sweep(EditFormat):
    """Files, each edit as an original and an updated text, the window before the edits and now, and the lines of the
    new window that stay. The answer is the rest of the new window, without its last line break.
    """

    name = "sweep"
    demanded = (FILE,)
    marks = (CURSOR,)
    ends = True

    def prompt(self, asked: Rewrite, tokenizer: Tokenizer) -> Prompt:
        separator = tokenizer.added[FILE]
        parts: list[str | int] = []
        for file in asked.files:
            parts += [separator, shown(file)]
        for edit in asked.edits:
            parts += [part for each in hunks(edit, AROUND_LINES) for part in (separator, _shown(each))]
        last = asked.row + asked.body.count("\n")
        named = f"{asked.path}:{asked.row + 1}:{last}\n"
        before = (asked.before or asked.body).rstrip("\n") + "\n"
        parts += [separator, f"original/{named}{before}"]
        parts += [separator, f"current/{named}{with_cursor(asked, CURSOR)}"]
        parts += [separator, f"updated/{named}{asked.kept}"]
        return in_tokens(parts, tokenizer)

    def draft(self, asked: Rewrite, tokenizer: Tokenizer) -> list[int]:
        return tokenizer.encode(asked.body[len(asked.kept) : -1])

    def _read(self, asked: Rewrite, answer: str) -> Read:
        text, marks = without(CURSOR, answer)
        return Read(asked.whole(text), len(asked.kept), marks)


def _shown(hunk: Hunk) -> str:
    lines = "" if hunk.row is None else f":{hunk.row}:{hunk.row + max(1, len(hunk.new)) - 1}"
    old, new = "\n".join(hunk.old), "\n".join(hunk.new)
    return f"{hunk.path}{lines or '.diff'}\noriginal:\n{old}\nupdated:\n{new}\n"
