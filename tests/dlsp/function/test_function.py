"""Where a function's body goes. `|` is the cursor, BODY what is filled in."""

import pytest

from dlsp.function import end, gap, selected, unwritten

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
    "an error over several lines": (
        'def f(a):\n    """One."""\n    raise NotImplementedError(\n        "later"|\n    )\n\nx = 1\n',
        'def f(a):\n    """One."""\n    BODY\n\nx = 1\n',
    ),
    "tabs": ("class A:\n\tdef f(self):|\n", "class A:\n\tdef f(self):\n\t\tBODY\n"),
    "below a comment that is indented by one": (
        "/**\n * Adds.\n */\nfunction g() {\n  h()\n}\nfunction f(a) {|}\n",
        "/**\n * Adds.\n */\nfunction g() {\n  h()\n}\nfunction f(a) {\n  BODY\n}\n",
    ),
    "braces on one line": ("function f(a) {|}\ng()\n", "function f(a) {\n    BODY\n}\ng()\n"),
    "braces with a TODO": ("function f(a) {\n  // TODO |\n}\ng()\n", "function f(a) {\n  // TODO \n  BODY\n}\ng()\n"),
    "braces around an empty line": ("fn f(a: u8) -> u8 {\n|\n}\n", "fn f(a: u8) -> u8 {\n    BODY\n}\n"),
    "ruby": ("def f(a)\n  |\nend\n", "def f(a)\n    BODY\nend\n"),
    "ruby without its end": ("def a\n  1\nend\n\ndef full?|\n", "def a\n  1\nend\n\ndef full?\n  BODY\nend\n"),
    "lua with a TODO": (
        "local function f(a)\n  -- TODO: it|\nend\nreturn f\n",
        "local function f(a)\n  -- TODO: it\n  BODY\nend\nreturn f\n",
    ),
    "bash": ("f() {\n|\n}\n", "f() {\n    BODY\n}\n"),
    "a TODO among statements": (
        "def f(a):\n    b = a\n    # TODO: the rest|\n    return b\n",
        "def f(a):\n    b = a\n    # TODO: the rest\n    BODY\n    return b\n",
    ),
    "brackets and colons among the parameters": (
        'def f(a=(1, 2), b: Literal["x", ")"] = {1: 2}, c: int = 3) -> dict["a:b", int]: ...|\n',
        'def f(a=(1, 2), b: Literal["x", ")"] = {1: 2}, c: int = 3) -> dict["a:b", int]:\n    BODY\n',
    ),
    "braces in the return type": (
        "function f(a): { b: string } {\n  |\n}\n",
        "function f(a): { b: string } {\n    BODY\n}\n",
    ),
    "a brace on its own line": (
        "int\nf(int a)|\n{\n    // TODO\n}\n",
        "int\nf(int a)\n{\n    // TODO\n    BODY\n}\n",
    ),
    "a brace below the word function": (
        "function f(a)\n{\n    // TODO|\n}\n",
        "function f(a)\n{\n    // TODO\n    BODY\n}\n",
    ),
    "what is initialised before the brace": (
        "A::A(int a)\n    : a_(a),\n      b_(2)\n{|\n}\n",
        "A::A(int a)\n    : a_(a),\n      b_(2)\n{\n    BODY\n}\n",
    ),
    "a where before the brace": (
        "impl A {\n    fn f<T>(a: T) -> u8\n    where\n        T: Copy,\n    {\n        todo!()|\n    }\n}\n",
        "impl A {\n    fn f<T>(a: T) -> u8\n    where\n        T: Copy,\n    {\n        BODY\n    }\n}\n",
    ),
    "a placeholder between braces on one line": (
        "fn f<'a>(a: &'a str) -> u8 { unimplemented!(\"a\") }|\ng();\n",
        "fn f<'a>(a: &'a str) -> u8 {\n    BODY\n}\ng();\n",
    ),
    "a method in an object": (
        "a = {\n  f(a) {},|\n  g() {},\n};\n",
        "a = {\n  f(a) {\n    BODY\n  },\n  g() {},\n};\n",
    ),
    "a comment behind an open brace": ("fn f() { // so|", "fn f() { // so\n    BODY\n}"),
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
        "void f()\n{\n    g();\n    {|\n    }\n}\n",
        "void f()\n{\n    foreach (var a in b)\n    {|\n    }\n}\n",
        "f({\n  a: g(),|\n});\n",
        "try {\n    a();\n} catch (b) {\n|\n}\n",
        "if (a) {\n    b();\n} else if (c) {|\n}\n",
    ],
)
def test_not_found(marked: str) -> None:
    assert gap(marked.replace("|", ""), max(0, marked.find("|"))) is None


@pytest.mark.parametrize(
    ("marked", "filled"),
    [
        ("def f(a):\n[    b = 1\n    c = 2\n]    return c\n", "def f(a):\n    BODY\n    return c\n"),
        ("fn f() {\n    l[et a = 1;\n    let b = 2;]\n}\n", "fn f() {\n    BODY\n}\n"),
    ],
)
def test_selected(marked: str, filled: str) -> None:
    text = marked.replace("[", "").replace("]", "")
    found = selected(text, marked.index("["), marked.index("]") - 1)
    assert found
    assert text[: found.start] + found.lead + "BODY" + found.tail + text[found.end :] == filled


@pytest.mark.parametrize(
    "marked",
    [
        "[a = 1\n]b = 2\n",
        "fn f() {\n    [a();\n}]\n",
        "a = {\n  f() {\n    [b();\n  },]\n};\n",
        "def f():\n[\n]\nx = 1\n",
    ],
)
def test_what_is_no_body_is_not_selected(marked: str) -> None:
    assert selected(marked.replace("[", "").replace("]", ""), marked.index("["), marked.index("]") - 1) is None


ENDS = {
    "nothing of it follows": ("def f(a):\n    b = a\n    |\n\n\ndef g(b):\n    return b\n", ""),
    "what stands behind the cursor": ("def f(a):\n    g(|)\n\n\ndef g(b):\n    return b\n", ")\n"),
    "a method": ("class A:\n    def f(self):\n        x = |\n\n    def g(self):\n        return 1\n", ""),
    "an inner block, its outer one over too": ("def f(a):\n    if a:\n        |\n\ndef g():\n    pass\n", ""),
    "a definition of several lines": ("def f(\n    a,\n) -> int:\n    |\n\ndef g():\n    pass\n", ""),
    "the brace is kept": ("fn f() -> u8 {\n    |\n}\n\nfn g() {\n    1\n}\n", "\n}\n"),
    "callbacks are not looked into": ("f(() => {\n  g(() => {\n    |\n  });\n});\n\nh();\n", None),
    "an end": ("def f(a)\n  |\nend\n\ndef g\n  1\nend\n", "\nend\n"),
    "more of it follows": ("def f(a):\n    |\n    return a\n\ndef g():\n    pass\n", None),
    "more of the outer one": ("def f(a):\n    def g():\n        |\n    return g\n\nx = 1\n", None),
    "more after the inner block": ("def f(a):\n    if a:\n        |\n    return a\n\nx = 1\n", None),
    "an else": ("def f(a):\n    if a:\n        |\n    else:\n        b()\n\nx = 1\n", None),
    "outside of functions": ("x = |\n\ndef g():\n    pass\n", None),
    "between methods": (
        "class A:\n    def f(self):\n        return 1\n\n    |\n\n    def g(self):\n        pass\n",
        None,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_where_a_function_ends(name: str) -> None:
    text, closing = ENDS[name]
    assert end(*text.split("|")) == closing


@pytest.mark.parametrize(
    ("body", "nothing"),
    [
        ("pass", True),
        ("", True),
        ('"""Later."""', True),
        ("# TODO: it\n    ...", True),
        ("// TODO: it\n  throw new Error('not yet');", True),
        ("todo!()", True),
        ('raise NotImplementedError(\n        "later"\n    )', True),
        ("throw new Error(\n    'not ' + f(\n      a)\n  );", True),
        ('raise NotImplementedError(\n        "later"\n    )\n    return a', False),
        ("g(\n        a\n    )", False),
        ("return a", False),
        ("# TODO: faster\n    return a", False),
        ("if a:\n        pass\n    return a", False),
    ],
)
def test_what_does_nothing_is_no_body(body: str, nothing: bool) -> None:
    assert unwritten(body) is nothing
