import pytest

from dlsp.completions.filters.brackets import cut_unmatched
from dlsp.syntax.brackets import unclosed
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "its own": "x = ▮f(a)[0]▮▯\n",
    "opened before": "x = f(▮a)▮▯\n",
    "opened lines before": "x = f(\n    a,\n    ▮b)▮▯\n",
    "closes nothing": "x = ▮a▮) + b▯\n",
    "a second one": "x = f(▮a)▮)▯\n",
    "another kind": "x = f(▮a▮]▯\n",
    "in a string": 'x = ▮f(":)")▮▯\n',
    "in a comment": "x = ▮a  # :)▮▯\n",
    "the end of a block": "class A {\n  f() {\n    ▮g();\n  }\n}▮▯\n",
    "one too many": "class A {\n  f() {\n    ▮g();\n  }\n}\n▮}▯\n",
    "escaped": "x = ▮/\\)\\)/▮▯\n",
    "a numbered list": "Steps:\n\n▮1) first\n2) second▮▯\n",
    "cases of a shell": 'case "$1" in\n    ▮-h|--help)\n        usage\n        ;;\n    *)▮▯\n',
    "before has a lone quote": "it's (▮a)▮▯\n",
}


@pytest.mark.parametrize("case", CASES)
def test_cut_unmatched(case: str) -> None:
    marked = golden(CASES[case])
    assert cut_unmatched(marked.answer, marked.before) == marked.kept


def test_unclosed() -> None:
    assert unclosed("f(a, [1, {'b': '('") == ["(", "[", "{"]
    assert unclosed('f("""(""")') == []
    assert unclosed("it\\'s (") == ["("]
    assert unclosed("fn f<'a>(x: &'a str, ") == ["("]
    assert unclosed("match x { b'(' | '[' => r'{'") == ["{"]
