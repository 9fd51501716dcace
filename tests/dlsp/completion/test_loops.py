import pytest

from dlsp.completion.loops import cut_repeats
from tests.dlsp.completion.golden import golden

CASES = {
    "no repetition": "▮first = load(a)\nsecond = load(b)\nthird = load(c)▮▯\n",
    "the third time": "▮values.append(0)▮\nvalues.append(0)\nvalues.append(0)▯\n",
    "twice may be meant": "▮values.append(0)\nvalues.append(0)▮▯\n",
    "two lines twice": "▮first(value)\nsecond(value)▮\nfirst(value)\nsecond(value)▯\n",
    "closing brackets": "▮      }\n    }\n    }\n    }▮▯\n",
    "the line above": "    total = total + value\n    ▮▮total = total + value▯\n",
    "the lines above": "open_file(a)\nread_file(b)\n▮▮open_file(a)\nread_file(b)\nclose()▯\n",
    "like the line above, then more": "load_value(a)\n▮load_value(a)\nstore(a)▮▯\n",
    "a short line above": "x += 1\n▮x += 1▮▯\n",
    "in the middle of a line": "total = total + value\nx = ▮total = total + value▮▯\n",
}


@pytest.mark.parametrize("case", CASES)
def test_cut_repeats(case: str) -> None:
    marked = golden(CASES[case])
    assert cut_repeats(marked.answer, marked.before) == marked.kept
