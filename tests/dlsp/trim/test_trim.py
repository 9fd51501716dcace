"""Golden cases: the document with ▮ at the cursor, the engine's answer, and what is left of it."""

import pytest

from dlsp.trim import trim

CASES = {
    "nothing to cut": ("x = ▮\n", "a + b", "a + b"),
    "white space at the end": ("x = ▮\n", "a + b  \n\n", "a + b"),
    "white space alone": ("x = ▮\n", "  \n  ", ""),
    "blanks kept before text": ("x = ▮b\n", "a + ", "a + "),
    "special token": ("x = ▮\n", "a<|endoftext|> + b", "a"),
    "special token first": ("x = ▮\n", "<|fim_middle|>a", ""),
    "operators that look like one": ("let y = ▮\n", "f <| x |> g", "f <| x |> g"),
    # the rest of the line
    "rest that closes a bracket": ("x = ▮ + c)\n", "f(a, b + c)", "f(a, b"),
    "whole rest repeated": ("total = ▮ + tax\n", "price * count + tax", "price * count"),
    "rest and more lines": ("def f(▮):\n", "a, b):\n    return a", "a, b"),
    "closing bracket": ("print(▮)\n", "name)", "name"),
    "closing bracket of its own": ("print(▮)\n", "len(name)", "len(name)"),
    "closing bracket after its own": ("print(▮)\n", "len(name))", "len(name)"),
    "closing bracket, then more": ("print(▮)\n", "name) + other", "name"),
    "two closing brackets": ("print(str(▮))\n", "name))", "name"),
    "another bracket": ("x = [▮]\n", "f(a)]", "f(a)"),
    "closing quote": ('x = "▮"\n', 'hello"', "hello"),
    "closing quote, then more": ('f("▮")\n', 'hello", 3)', "hello"),
    "escaped quote": ('x = "▮"\n', r'say \"hi\" now"', r"say \"hi\" now"),
    "quotes outside a string": ('x = ▮"end"\n', '"start" + ', '"start" + '),
    "docstring": ('def f():\n    """▮"""\n', 'Add."""\n    return 1', "Add."),
    "nothing but the rest": ("f(▮)\n", ")", ""),
    # the next lines
    "next line": ("def f():\n    ▮\n    return x\n", "x = 1\n    return x\n", "x = 1"),
    "next line at once": ("def f():\n    ▮\n    return x\n", "return x", ""),
    "next line after blanks": ("▮\n\n\ndef g():\n    pass\n", "y = 2\n\n\ndef g():\n    pass", "y = 2"),
    "same words, deeper": (
        "def f():\n    ▮\n    return None\n",
        "if a:\n        return None\n    b = 1",
        "if a:\n        return None\n    b = 1",
    ),
    "closing line": ("f(\n    ▮\n)\n", "a,\n    b,\n)", "a,\n    b,"),
    "closing line of its own": ("{\n▮\n}\n", "if (a) {\n  b();\n}", "if (a) {\n  b();\n}"),
    "closing line after a stray one": ("{\n▮\n)\n", "x)\nf(\n)", "x)\nf(\n)"),
    "a second equal line": ("a.append(▮\na.append(0)\n", "0)", "0)"),
    # the document's line endings
    "carriage returns": ("if a:\r\n    ▮\r\nb\r\n", "x = 1\n    y = 2", "x = 1\r\n    y = 2"),
    "carriage returns and a repeat": ("a\r\n▮\r\nb\r\n", "x = 1\nb", "x = 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_trim(case: str) -> None:
    document, answer, expected = CASES[case]
    before, after = document.split("▮")
    assert trim(answer, before, after) == expected
