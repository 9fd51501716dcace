"""What a selection's answer changes, and what the model is asked."""

import pytest

from dlsp.completions.instruct import _written, changed, request
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.search.page import Page

PAGE = Page("u", "fees.py", "a = 1\nb = 2\nc = 3\nd = 4\n")


def test_lines_left_alone_are_held() -> None:
    assert changed(PAGE, 1, 3, "+b = 2\n+c = 30\n") == Hunk(2, 3, ("c = 30\n",))
    assert changed(PAGE, 1, 3, "+b = 2\n+c = 3\n") is None
    assert changed(PAGE, 1, 3, "c = 30\n") is None, "no lines of a diff"


def test_the_instruction_is_the_subject_of_a_patch() -> None:
    (site,) = request(PAGE, 1, 3, "make it\nlarge", "b = 200", "verified")["sites"]
    assert site["prefix"].startswith("Subject: [PATCH] make it large\n\nb = 200\n---\n--- a/fees.py\n")
    assert site["prefix"].endswith("@@ @@\n a = 1\n-b = 2\n-c = 3\n")
    assert (site["text"], site["suffix"]) == ("+b = 2\n+c = 3\n", " d = 4\n")


@pytest.mark.parametrize(
    ("present", "answer", "made"),
    [
        (["a\n"], "+b\n", ("b\n",)),
        (["a\n", "c\n"], "+a\n+b\n+c\n", ("a\n", "b\n", "c\n")),
        (["a\r\n"], "+b", ("b\r\n",)),
        (["a\n"], "", ()),
        (["a\n"], "+a\n", None),
        (["a\n"], "+b\nmore", None),
        (["a\n"], " a\n", None),
    ],
)
def test_a_diff_of_lines(present: list[str], answer: str, made: tuple[str, ...] | None) -> None:
    assert _written(present, answer) == made
