"""The checkers of constraints on code find what they must."""

import pytest

from tests.constraints import code


@pytest.mark.parametrize(
    ("before", "text", "right"),
    [
        ("x.", "a", True),
        ("x.", "b", False),
        ("", "x.a(b(1))", False),
        ("", "a(b)", True),
        ("", "b(a)", False),
        ("", "f = 'x.b(' + \"b(\"  # b(", True),
        ("", "'x'.b", False),
        ("", "1.b", True),
        ("", "1 .b", False),
        ("b", "(1)", False),
        ("b(1)", " + a(1)", True),
        ("x.c", "b(a.b)", True),
        ("", "x.", False),
    ],
)
def test_names(before: str, text: str, right: bool):
    assert code.named(["a", "ab"], before, text) is right


@pytest.mark.parametrize(
    ("before", "text", "behind", "right"),
    [
        ("f(", "a)", "\n", True),
        ("f(", "a", "\n", False),
        ("f(", "a", ")\n", True),
        ("f(", "a)", ")\n", False),
        ("", "(]", "\n", False),
        ("", "'('", "", True),
        ("{", "a", ")\n", True),  # what stands there already is at fault
    ],
)
def test_brackets(before: str, text: str, behind: str, right: bool):
    assert code.balanced(before, text, behind) is right
