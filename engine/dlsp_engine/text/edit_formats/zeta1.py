"""The format of Zed's Zeta 1, which is Qwen2.5-Coder-7B, trained further."""

from collections.abc import Iterator

from dlsp_engine.text.edit_formats.own import EditFormat, Read, behind, in_tokens, with_cursor, without
from dlsp_engine.text.prompt import File, Prompt
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import Tokenizer

# The model was trained with a sentence of its makers that says the same.
INSTRUCTION = "Write the excerpt again as the user will want it after the edits below. The cursor is marked."
# All are text, as they were in training.
START, END = "<|editable_region_start|>", "<|editable_region_end|>"
CURSOR, TOP = "<|user_cursor_is_here|>", "<|start_of_file|>"


class Zeta1(EditFormat):
    """An instruction, the edits as diffs, and the file around the region between two marks: what of the window does not
    stay. The answer is the new region between the same marks.
    """

    name = "zeta1"
    marks = (CURSOR, START, END)
    stops = (END,)
    ends = True

    def prompt(self, asked: Rewrite, tokenizer: Tokenizer) -> Prompt:
        edits = "\n\n".join(_shown(edit) for edit in asked.edits)
        top = f"{TOP}\n" if asked.row == asked.prefix.count("\n") else ""
        region = f"{START}\n{with_cursor(asked, CURSOR, len(asked.kept))}{END}"
        excerpt = f"```{asked.path}\n{top}{asked.prefix}{asked.kept}{region}{behind(asked)}```"
        text = f"### Instruction:\n{INSTRUCTION}\n\n### User Edits:\n\n{edits}\n\n### User Excerpt:\n\n{excerpt}"
        return in_tokens([f"{text}\n\n### Response:\n"], tokenizer)

    def draft(self, asked: Rewrite, tokenizer: Tokenizer) -> list[int]:
        return tokenizer.encode(f"{START}\n{asked.body[len(asked.kept) :]}{END}")

    def _read(self, asked: Rewrite, answer: str) -> Read:
        opening = f"{START}\n"
        if not answer.startswith(opening) or not answer[len(opening) :].strip():
            return Read(asked.text, len(asked.kept))
        text, cursors = without(CURSOR, answer)
        return Read(asked.whole(text[len(opening) :]), len(asked.kept), ((0, len(opening)), *cursors))


def _shown(edit: File) -> str:
    head, _, hunks = edit.text.rstrip("\n").partition("@@")
    path = next(_paths(head), edit.path)
    return f'User edited "{path}":\n```diff\n@@{hunks}\n```'


def _paths(head: str) -> Iterator[str]:
    return (line[4:].removeprefix("b/") for line in head.split("\n") if line.startswith("+++ "))
