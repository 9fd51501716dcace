"""What the model's diff of some lines makes of them."""

import pytest

from dlsp.edits.prompt import proposed_lines


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
    assert proposed_lines(present, answer) == made
