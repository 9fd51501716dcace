import pytest

from dlsp.completions.filters.following_lines import cut_following_lines, cut_overlap
from tests.dlsp.completions.filters.golden import golden

LINES = {
    "next line": "def f():\n    ▮x = 1\n▮    return x\n▯\n    return x\n",
    "next line at once": "def f():\n    ▮▮return x▯\n    return x\n",
    "next line after blanks": "▮y = 2\n\n\n▮def g():\n    pass▯\n\n\ndef g():\n    pass\n",
    "same words, deeper": "def f():\n    ▮if a:\n        return None\n    b = 1▮▯\n    return None\n",
    "closing line": "f(\n    ▮a,\n    b,\n▮)▯\n)\n",
    "closing line of its own": "{\n▮if (a) {\n  b();\n}▮▯\n}\n",
    "closing line after a stray one": "{\n▮x)\nf(\n)▮▯\n)\n",
    "another object": '[\n  ▮{\n    "a": 1\n  },▮▯\n  {\n    "a": 2\n  }\n]\n',
    "the same object": '[\n  ▮▮{\n    "a": 2\n  }▯\n  {\n    "a": 2\n  }\n]\n',
    "another method": "class A:\n    ▮@a\n    def f(self):\n        pass▮▯\n\n    @a\n    def g(self):\n",
    "only what another method begins with": "class A:\n    ▮▮@property▯\n\n    @property\n    def g(self):\n",
    "another test": "▮#[test]\nfn f() {\n}▮▯\n\n#[test]\nfn g() {\n}\n",
    "another item": "<ul>\n  ▮<li>\n    a\n  </li>▮▯\n  <li>\n    b\n  </li>\n</ul>\n",
    "another paragraph of a comment": "/**\n * a\n ▮*\n * @param b▮▯\n *\n * @returns c\n */\n",
    "a second equal line": "a.append(▮0)▮▯\na.append(0)\n",
}
OVERLAPS = {
    "part of the line after": "x = ▮f(a)▮\n    return▯\n    return x\n",
    "from the middle of a line on": "g(▮a▮, b)\n    return▯, b)\n    return x\n",
    "brackets alone": "{\n  f(▮a);\n}▮▯\n}\n",
    "no line's end": "x = ▮value▮▯value\n",
    "none": "x = ▮a\n    return▮▯\n    raise\n",
}


@pytest.mark.parametrize("case", LINES)
def test_cut_following_lines(case: str) -> None:
    marked = golden(LINES[case])
    rest, *following = marked.below
    assert cut_following_lines(marked.answer, marked.line_before, rest, following) == marked.kept


@pytest.mark.parametrize("case", OVERLAPS)
def test_cut_overlap(case: str) -> None:
    marked = golden(OVERLAPS[case])
    assert cut_overlap(marked.answer, marked.after) == marked.kept
