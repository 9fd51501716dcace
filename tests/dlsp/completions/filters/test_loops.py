import random
from pathlib import Path

import pytest

from dlsp.completions.filters.repeats import cut_repeats, cut_stutter
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "no repetition": "▮first = load(a)\nsecond = load(b)\nthird = load(c)▮▯\n",
    "the third time": "▮values.append(0)▮\nvalues.append(0)\nvalues.append(0)▯\n",
    "twice may be meant": "▮values.append(0)\nvalues.append(0)▮▯\n",
    "two lines twice": "▮first(value)\nsecond(value)▮\nfirst(value)\nsecond(value)▯\n",
    "two lines twice, indented": "    ▮first(value)\n    second(value)▮\n    first(value)\n    second(value)▯\n",
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


STUTTERS = {
    "digits": "x = ▮▮a + b * 11999999999999999999999999999999▯\n",
    "pictures": 'NAMES = "▮▮😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋😋▯\n',
    "a word, cut in the middle": "x = ▮▮" + "a.next." * 12 + "a.n▯\n",
    "in its last line": "▮first(value)▮\nsecond(" + "ab" * 20 + "▯\n",
    "not without end": "x = ▮" + "ab" * 11 + "▮▯\n",
    "a large number": "TRILLION = ▮1" + "0" * 12 + "▮▯\n",
    "a ruler": "# ▮" + "-" * 70 + "▮▯\n",
    "a ruler of blanks between": "# ▮" + "= " * 35 + "=▮▯\n",
    "a drawn ruler": "# ▮" + "─" * 70 + "▮▯\n",
    "blanks": "x = 1▮" + " " * 40 + "▮▯# one\n",
    "the columns of a table": "[\n    ▮" + "0x00, " * 15 + "0x00,▮▯\n]\n",
    "what the document has, too": "A = '" + "0" * 64 + "'\nB = '▮" + "0" * 64 + "▮▯'\n",
    "closed again": "x = ▮'" + "0" * 64 + "'▮▯\n",
}


@pytest.mark.parametrize("case", STUTTERS)
def test_cut_stutter(case: str) -> None:
    marked = golden(STUTTERS[case])
    assert cut_stutter(marked.answer, marked.before + marked.after) == marked.kept


def test_what_is_right_is_never_cut() -> None:
    """Real lines up to every end that an answer may have; alone, as nothing alike is in the document."""
    chance = random.Random(7)
    for file in chance.sample(sorted(Path(random.__file__).parent.glob("*.py")), 40):
        for line in file.read_text(encoding="utf-8").splitlines():
            for right in {line, line.rstrip(")]}'\""), line[: chance.randrange(len(line) + 1)]}:
                assert cut_stutter(right, "") == right, file.name
