import pytest

from dlsp.completions.filters.rest_of_line import cut_rest_of_line
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "nothing to cut": "print(▮name▮▯)\n",
    "rest that closes a bracket": "x = ▮f(a, b▮ + c)▯ + c)\n",
    "whole rest repeated": "total = ▮price * count▮ + tax▯ + tax\n",
    "rest and more lines": "def f(▮a, b▮):\n    return a▯):\n",
    "closing bracket": "print(▮name▮)▯)\n",
    "closing bracket of its own": "print(▮len(name)▮▯)\n",
    "closing bracket after its own": "print(▮len(name)▮)▯)\n",
    "closing bracket, then more": "print(▮name▮) + other▯)\n",
    "two closing brackets": "print(str(▮name▮))▯))\n",
    "another bracket": "x = [▮f(a)▮]▯]\n",
    "closing quote": 'x = "▮hello▮"▯"\n',
    "closing quote, then more": 'f("▮hello▮", 3)▯")\n',
    "escaped quote": r'x = "▮say \"hi\" now▮"▯"' + "\n",
    "quotes outside a string": 'x = ▮"start" + ▮▯"end"\n',
    "docstring": 'def f():\n    """▮Add.▮"""\n    return 1▯"""\n',
    "docstring with quotes": 'def f():\n    """▮The "name" of it.▮"""\n    return 1▯"""\n',
    "closing bracket in a string": 'print(▮":)", 2▮)▯)\n',
    "closing bracket in a pattern": "f(▮/\\)/g, a▮)▯)\n",
    "closing bracket between lifetimes": "fn f(▮a: &'a str▮) -> &'a str▯)\n",
    "closing bracket in a text with apostrophes": "it isn't (▮don't▮), isn't it▯)\n",
    "nothing but the beginning of a long rest": "function f(b){ret▮▮urn b+1};functi▯urn b+1};function a(b){return b}\n",
    "an argument before another": "f(▮a, ▮▯a, b)\n",
    "nothing but the rest": "f(▮▮)▯)\n",
}


@pytest.mark.parametrize("case", CASES)
def test_cut_rest_of_line(case: str) -> None:
    marked = golden(CASES[case])
    assert cut_rest_of_line(marked.answer, marked.line_before, marked.below[0]) == marked.kept
