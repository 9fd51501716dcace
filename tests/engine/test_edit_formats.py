"""The formats of models that others trained to write edits: prompts byte for byte, answers, and greedy decoding."""

import random
from dataclasses import replace

import pytest

from dlsp_engine.decode.rewriting import rewritten_plainly
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.edit_formats.diffs import Hunk, hunks
from dlsp_engine.text.edit_formats.named import FORMATS
from dlsp_engine.text.edit_formats.own import EditFormat
from dlsp_engine.text.edit_formats.zeta import Zeta2
from dlsp_engine.text.edit_formats.zeta1 import INSTRUCTION
from dlsp_engine.text.prompt import File
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import ByteTokenizer

SWEEP, ZETA1, ZETA2, ZETA21 = OTHERS = [FORMATS[name] for name in ("sweep", "zeta1", "zeta2", "zeta2.1")]
DIFF = (
    "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,4 +1,5 @@\n import os\n \n-def fee(a):\n+def fee(a, b):\n+    print(b)\n"
    "     return a\n"
)
TEXT = "def fee(a, b):\n    print(b)\n    return a\n\n\nx = fee(1)\n"
WINDOW = Rewrite(
    TEXT,
    before=TEXT.replace("(a, b)", "(a)").replace("    print(b)\n", ""),
    path="src/a.py",
    keep=2,
    files=(File("src/b.py", "from a import fee\n\n"),),
    edits=(File("src/a.py", DIFF),),
    prefix="import os\n\n",
    suffix="y = 2\n",
    row=2,
    cursor=len("def fee(a, b):\n    print(b)"),
)


class Named(ByteTokenizer):
    """A token per byte, and the control tokens of all formats."""

    def __init__(self) -> None:
        super().__init__()
        self.added.update({"<|file_sep|>": self.file, "<filename>": self.file})
        self.added.update({f"<[fim-{name}]>": getattr(self, name) for name in ("prefix", "middle", "suffix")})

    def spelled_out(self, tokens: list[int], file: str) -> str:
        names = {number: name for name, number in self.added.items()} | {self.file: file}
        return b"".join(names[each].encode() if each in names else bytes([each]) for each in tokens).decode()


NAMED = Named()


def prompt(form: EditFormat, asked: Rewrite) -> str:
    file = "<|file_sep|>" if form is SWEEP else "<filename>"
    return NAMED.spelled_out(form.prompt(asked, NAMED).tokens, file)


def draft(form: EditFormat, asked: Rewrite) -> str:
    return NAMED.decode(form.draft(asked, NAMED))


def test_sweep_s_prompt():
    assert prompt(SWEEP, WINDOW) == (
        "<|file_sep|>src/b.py\nfrom a import fee\n"
        "<|file_sep|>src/a.py:2:5\noriginal:\n\ndef fee(a):\n    return a\n"
        "updated:\n\ndef fee(a, b):\n    print(b)\n    return a\n"
        "<|file_sep|>original/src/a.py:3:8\ndef fee(a):\n    return a\n\n\nx = fee(1)\n"
        "<|file_sep|>current/src/a.py:3:8\ndef fee(a, b):\n    print(b)<|cursor|>\n    return a\n\n\nx = fee(1)\n"
        "<|file_sep|>updated/src/a.py:3:8\ndef fee(a, b):\n    print(b)\n"
    )
    assert draft(SWEEP, WINDOW) == "    return a\n\n\nx = fee(1)"


def test_sweep_s_prompt_of_little():
    bare = Rewrite("x = 1\n", path="a.py", edits=(File("b.py", "@@ @@\n-y\n+z\n"),))
    assert prompt(SWEEP, bare) == (
        "<|file_sep|>b.py.diff\noriginal:\ny\nupdated:\nz\n"
        "<|file_sep|>original/a.py:1:1\nx = 1\n<|file_sep|>current/a.py:1:1\nx = 1\n<|file_sep|>updated/a.py:1:1\n"
    )


def test_zeta_2_s_prompt():
    whole = replace(WINDOW, keep=0)
    head = "<[fim-suffix]>\ny = 2\n<[fim-prefix]><filename>src/b.py\nfrom a import fee\n\n"
    head += f"<filename>edit_history\n{DIFF}\n<filename>src/a.py\nimport os\n\n"
    region = TEXT.replace("print(b)", "print(b)<|user_cursor|>")
    assert prompt(ZETA2, whole) == f"{head}<<<<<<< CURRENT\n{region}=======\n<[fim-middle]>"
    assert draft(ZETA2, whole) == TEXT + ">>>>>>> UPDATED"
    assert prompt(ZETA21, whole) == f"{head}<|marker_1|>\n{region}<|marker_2|>\n<[fim-middle]>"
    assert draft(ZETA21, whole) == f"<|marker_1|>\n{TEXT}<|marker_2|>"
    assert "<<<<<<< CURRENT\n<|user_cursor|>    return a\n" in prompt(ZETA2, WINDOW), "behind the lines that stay"


def test_zeta_1_s_prompt():
    asked = replace(WINDOW, keep=0)
    region = TEXT.replace("print(b)", "print(b)<|user_cursor_is_here|>")
    edited = DIFF[DIFF.index("@@") :]
    assert prompt(ZETA1, asked) == (
        f"### Instruction:\n{INSTRUCTION}\n\n### User Edits:\n\n"
        f'User edited "src/a.py":\n```diff\n{edited}```\n\n'
        "### User Excerpt:\n\n```src/a.py\n<|start_of_file|>\nimport os\n\n<|editable_region_start|>\n"
        f"{region}<|editable_region_end|>\ny = 2\n```\n\n### Response:\n"
    )
    assert draft(ZETA1, asked) == f"<|editable_region_start|>\n{TEXT}<|editable_region_end|>"
    assert "<|start_of_file|>" not in prompt(ZETA1, replace(asked, row=3))
    assert '```\n\nUser edited "b.py":\n```diff\n@@ @@\n-y\n```' in prompt(
        ZETA1, replace(asked, edits=(*asked.edits, File("b.py", "@@ @@\n-y\n")))
    )


def test_without_a_token_for_files_zeta_2_s_are_named_in_text():
    plain = Named()
    del plain.added["<filename>"]
    tokens = ZETA2.prompt(replace(WINDOW, files=(), edits=()), plain).tokens
    assert plain.file not in tokens
    assert b"<filename>src/a.py\n" in bytes(each for each in tokens if each < 256)


def test_the_end_of_a_file_has_no_text_behind_it():
    end = replace(WINDOW, text="x = 1\n\n\n", suffix="", cursor=None, files=(), edits=(), prefix="", keep=0)
    assert prompt(ZETA2, end).startswith("<[fim-suffix]>\n\n\n<[fim-prefix]><filename>")
    assert prompt(ZETA2, replace(end, text="x = 1")).startswith("<[fim-suffix]>\n<[fim-prefix]><filename>")
    assert "<<<<<<< CURRENT\nx = 1\n=======\n" in prompt(ZETA2, end)


BLOCKS = "".join(f"a{n} = {n}\n" for n in range(7)) + "\n" + "".join(f"b{n} = [\n]\n" for n in range(14))


def test_zeta_2_1_s_region_has_a_marker_around_each_block():
    asked = Rewrite(BLOCKS, path="a.py", cursor=len(BLOCKS) - 1)
    shown = prompt(ZETA21, asked)
    numbers = [part.partition("|>")[0] for part in shown.split("<|marker_")[1:]]
    assert numbers == ["1", "2", "3", "4"]
    region = shown[shown.index("<|marker_1|>") : shown.index("<[fim-middle]>")]
    blocks = [part.partition("|>\n")[2] for part in region.split("<|marker_")[1:-1]]
    assert "".join(blocks).replace("<|user_cursor|>", "") == BLOCKS
    assert [block.count("\n") for block in blocks] == [8, 16, 12]
    assert not any(block.startswith(("]", "\n")) for block in blocks)
    assert draft(ZETA21, asked) == f"<|marker_3|>\n{blocks[2].replace('<|user_cursor|>', '')}<|marker_4|>"


def test_zeta_2_1_s_answer_takes_the_place_of_its_blocks():
    asked = Rewrite(BLOCKS, path="a.py", keep=1)
    first = BLOCKS.index("b0")
    for answer, expected in (
        ("<|marker_1|>\n<|user_cursor|>c = 1\n<|marker_2|>", "a0 = 0\nc = 1\n" + BLOCKS[first:]),
        ("<|marker_1|>\nc\n<|marker_2|>\nd\n<|marker_4|>", "a0 = 0\nc\nd\n"),
        ("<|marker_2|>\n<|marker_2|>", BLOCKS),
        ("<|marker_2|>\nc\n<|marker_1|>", BLOCKS),
        ("<|marker_2|>\nc\n<|marker_9|>", BLOCKS),
        ("c\n", BLOCKS),
        ("", BLOCKS),
    ):
        assert ZETA21.read(asked, answer).text == expected, answer
    read = ZETA21.read(asked, "<|marker_2|>\nc<|user_cursor|> = 1\n<|marker_4|>")
    answer = "<|marker_2|>\nc<|user_cursor|> = 1\n"
    assert read.text[read.place(answer.index("c")) :] == "c = 1\n"
    assert read.text[read.place(answer.index("= 1")) :] == "= 1\n"


@pytest.mark.parametrize(
    ("form", "answer", "expected"),
    [
        (SWEEP, "    return a + b\n\n\nx = fee(1, 2)", "    return a + b\n\n\nx = fee(1, 2)\n"),
        (SWEEP, "    return<|cursor|> a\n", "    return a\n"),
        (ZETA1, "<|editable_region_start|>\n    return a + b\n<|user_cursor_is_here|>", "    return a + b\n"),
        (ZETA1, "<|editable_region_start|>\n", None),
        (ZETA1, "    return b\n", None),
        (ZETA2, "    return a + b<|user_cursor|>\n", "    return a + b\n"),
        (ZETA2, "NO_EDITS\n", None),
        (ZETA2, "", None),
    ],
)
def test_an_answer_is_the_rest_of_the_window_without_marks(form: EditFormat, answer: str, expected: str | None):
    kept = WINDOW.kept
    assert form.read(WINDOW, answer).text == (TEXT if expected is None else kept + expected)


@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.name)
def test_what_the_model_would_leave_is_no_change(form: EditFormat):
    for keep in range(3):
        asked = replace(WINDOW, keep=keep)
        answer = draft(form, asked)
        for stop in form.stops:
            answer = answer.removesuffix(stop)
        read = form.read(asked, answer)
        assert read.text == TEXT
        assert read.text[read.place(answer.index("x = fee")) :] == "x = fee(1)\n"


@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.name)
def test_a_window_that_holds_marks_of_the_format_stays_as_it_is(form: EditFormat):
    """They cannot be told from the model's own."""
    for mark in form.marks:
        held = replace(WINDOW, text=f"{TEXT}z = '{mark}'\n")
        assert form.read(held, "<|marker_1|>\nz\n<|marker_2|>").text == held.text


@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.name)
def test_whatever_is_answered_no_mark_gets_into_the_window_and_what_stays_stays(form: EditFormat):
    rng = random.Random(2)
    parts = [
        *TEXT.splitlines(keepends=True),
        *form.marks,
        "<|marker_1|>\n",
        "<|marker_2|>\n",
        "<|marker_3|>",
        "NO_EDITS",
    ]
    changed = 0
    for _ in range(500):
        asked = replace(WINDOW, text=TEXT + "\n" * rng.randrange(3), keep=rng.randrange(4))
        opening = draft(form, asked).partition("\n")[0] + "\n" if form in (ZETA1, ZETA21) else ""
        answer = opening + "".join(rng.choices(parts, k=rng.randrange(8)))
        read = form.read(asked, answer)
        assert read.text.startswith(asked.kept)
        assert not any(mark in read.text for mark in form.marks)
        ends = [text[len(text.rstrip("\n")) :] for text in (read.text, asked.text)]
        assert ends[0] == ends[1] or not read.text
        assert all(read.place(at) <= read.place(at + 1) for at in range(len(answer)))
        changed += read.text != asked.text
    assert changed > 50


def test_hunks_of_a_diff():
    two = "--- a/x.py\n+++ b/x.py\n@@ -3,3 +3,2 @@\n a\n--- b\n c\n@@ -9 +8 @@\n-d\n+++ e\n"
    assert list(hunks(File("diff", two), 1)) == [
        Hunk("x.py", 3, ("a", "-- b", "c"), ("a", "c")),
        Hunk("x.py", 8, ("d",), ("++ e",)),
    ]
    assert next(hunks(File("diff", two), 0)) == Hunk("x.py", 4, ("-- b",), ())
    assert list(hunks(File("diff", "no diff"), 1)) == []


def test_a_vocabulary_without_the_format_s_tokens_is_refused(tiny: Engine):
    with pytest.raises(EngineError, match=r"format 'sweep'.* no token <\|file_sep\|>: add it with"):
        Engine(tiny.model, ByteTokenizer(), edit_format="sweep")
    with pytest.raises(EngineError, match=r"no token <\[fim-suffix\]> or <\[fim-prefix\]> or"):
        Engine(tiny.model, ByteTokenizer(), edit_format="zeta2.1")
    with pytest.raises(EngineError, match="no edit format 'zeta9': there are dlsp, sweep, zeta1"):
        Engine(tiny.model, ByteTokenizer(), edit_format="zeta9")


class Stopping(Zeta2):
    """Ends at any text that it is told to."""

    def __init__(self) -> None:
        self.stops: tuple[str, ...] = ()


def cut(answer: list[int], form: EditFormat) -> list[int]:
    """The answer up to the first text that ends it, and without the end token."""
    for count in range(len(answer)):
        if answer[count] in NAMED.stops:
            return answer[:count]
        if any(stop in NAMED.decode(answer[: count + 1]) for stop in form.stops):
            return answer[: count + 1]
    return answer


@pytest.mark.parametrize("form", [*OTHERS, Stopping()], ids=lambda form: type(form).__name__)
def test_whatever_is_drafted_the_greedy_text_is_written(tiny: Engine, form: EditFormat):
    engine, rng, ended = Engine(tiny.model, NAMED), random.Random(1), set[str]()
    engine.edit_format = form
    for turn in range(10):
        lines = rng.choices(TEXT.splitlines(keepends=True), k=rng.randrange(1, 5))
        asked = replace(WINDOW, text="".join(lines), keep=rng.randrange(2), cursor=rng.randrange(9), prefix="z" * turn)
        old = form.draft(asked, NAMED)
        most = max(len(old), len(asked.body)) + 4
        opening = form.prompt(asked, NAMED).tokens
        plain = rewritten_plainly(tiny.model, opening, old, NAMED.stops, most, ends=True)
        if isinstance(form, Stopping):
            form.stops = tuple(chr(each) for each in plain[2:] if each < 128)[:1]
        request = engine.rewrite_request(asked, Options(max_tokens=4, draft=rng.randrange(4), copy=rng.random() < 0.5))
        while not request.done:
            engine.step([request])
        told = request.outcome()
        assert list(told.tokens) == cut(plain, form)
        ended.add(told.reason)
        text = asked.text
        for change in reversed(told.changes):
            text = text[: change.start] + change.text + text[change.end :]
        assert text == told.text
    assert "window" not in ended
    assert ("stop" in ended) == isinstance(form, Stopping)
