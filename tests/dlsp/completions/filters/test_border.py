import pytest

from dlsp.completions.filters.text import cut_at_line_end
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "at the line's end": "x = ▮f(\n    a)▮▯\n",
    "in the middle of a line": "x = ▮a▮\ny = 2▯ + b\n",
    "before closing brackets": "f(▮a,\n  b▮▯)\n",
    "before a closing quote": "x = '▮a\nb▮▯');\n",
}


@pytest.mark.parametrize("case", CASES)
def test_to_border(case: str) -> None:
    marked = golden(CASES[case])
    assert cut_at_line_end(marked.answer, marked.below[0]) == marked.kept
