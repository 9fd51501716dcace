"""Where a function's body goes. `|` is the cursor, BODY what is filled in."""

import pytest

from dlsp.function import gap

FOUND = {
    "a bare definition": ("def f(a):|\n", "def f(a):\n    BODY\n"),
    "the empty line under it": ("def f(a):\n    |\n\nx = 1\n", "def f(a):\n    BODY\n\nx = 1\n"),
    "pass": ("def f(a):\n    pass|\n\nx = 1\n", "def f(a):\n    BODY\n\nx = 1\n"),
    "dots behind the colon": ("def f(a): ...|\nx = 1\n", "def f(a):\n    BODY\nx = 1\n"),
    "a comment behind the colon": (
        "def f(a: int) -> int:  # so\n|\ny = 2\n",
        "def f(a: int) -> int:  # so\n    BODY\ny = 2\n",
    ),
    "docstring and TODO stay": (
        'class A:\n    def f(\n        self, a: int = 3\n    ) -> dict[str, int]:\n        """One.\n\n        Two.\n'
        '        """\n        # TODO: it\n        raise NotImplementedError|\n\n    def g(self):\n        return 1\n',
        'class A:\n    def f(\n        self, a: int = 3\n    ) -> dict[str, int]:\n        """One.\n\n        Two.\n'
        '        """\n        # TODO: it\n        BODY\n\n    def g(self):\n        return 1\n',
    ),
    "tabs": ("class A:\n\tdef f(self):|\n", "class A:\n\tdef f(self):\n\t\tBODY\n"),
    "braces on one line": ("function f(a) {|}\ng()\n", "function f(a) {\n    BODY\n}\ng()\n"),
    "braces with a TODO": ("function f(a) {\n  // TODO |\n}\ng()\n", "function f(a) {\n  // TODO \n  BODY\n}\ng()\n"),
    "braces around an empty line": ("fn f(a: u8) -> u8 {\n|\n}\n", "fn f(a: u8) -> u8 {\n    BODY\n}\n"),
    "a brace that is open": ("func f(a int) int {|\n", "func f(a int) int {\n    BODY\n}\n"),
}


@pytest.mark.parametrize(("marked", "filled"), FOUND.values(), ids=FOUND)
def test_found(marked: str, filled: str) -> None:
    text = marked.replace("|", "")
    found = gap(text, marked.index("|"))
    assert found
    assert text[: found.start] + found.lead + "BODY" + found.tail + text[found.end :] == filled


@pytest.mark.parametrize(
    "marked",
    [
        "def f(a):\n    return |a\n",
        "if (x) {\n|\n}\n",
        "x = 1\n|\n",
        "",
        "def f(a):\n    pass\n\nx = |1\n",
        "class A:\n    |\n",
    ],
)
def test_not_found(marked: str) -> None:
    assert gap(marked.replace("|", ""), max(0, marked.find("|"))) is None
