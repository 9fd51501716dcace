import pytest

from dlsp.completion.indentation import indented

CASES = {
    "as it is": ("def f():\n    ▮", "x = 1\n    y = 2", "x = 1\n    y = 2"),
    "the cursor's own again": ("a = 1\nif b:\n    x = 1\n    ▮", "    y = 2\n    z = 3", "y = 2\n    z = 3"),
    "deeper where a block begins": ("def f():\n▮", "    x = 1", "    x = 1"),
    "after the cursor's, where a block begins": ("  if b:\n  ▮", "  x = 1", "  x = 1"),
    "tabs": ("def f():\n\tif b:\n\t\t▮", "x = 1\n        y = 2\n    z = 3", "x = 1\n\t\ty = 2\n\tz = 3"),
    "blanks": ("def f():\n    if b:\n        ▮", "x = 1\n\ty = 2", "x = 1\n    y = 2"),
    "neither yet": ("▮", "if a:\n\tx = 1", "if a:\n\tx = 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_indented(case: str) -> None:
    document, answer, expected = CASES[case]
    assert indented(answer, document.removesuffix("▮")) == expected
