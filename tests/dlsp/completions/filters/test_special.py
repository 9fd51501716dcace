import pytest

from dlsp.completions.filters.text import cut_special
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "at the end": "x = ▮a▮<|endoftext|> + b▯\n",
    "first": "x = ▮▮<|fim_middle|>a▯\n",
    "of the repository format": "x = ▮1▮<|file_sep|>b.py▯\n",
    "operators that look like one": "let y = ▮f <| x |> g▮▯\n",
}


@pytest.mark.parametrize("case", CASES)
def test_cut_special(case: str) -> None:
    marked = golden(CASES[case])
    assert cut_special(marked.answer) == marked.kept
