import pytest

from dlsp.completion.border import to_border
from tests.dlsp.completion.golden import golden

CASES = {
    "at the line's end": "x = ▮f(\n    a)▮▯\n",
    "in the middle of a line": "x = ▮a▮\ny = 2▯ + b\n",
    "before closing brackets": "f(▮a,\n  b▮▯)\n",
    "before a closing quote": "x = '▮a\nb▮▯');\n",
}


@pytest.mark.parametrize("case", CASES)
def test_to_border(case: str) -> None:
    marked = golden(CASES[case])
    assert to_border(marked.answer, marked.below[0]) == marked.kept
