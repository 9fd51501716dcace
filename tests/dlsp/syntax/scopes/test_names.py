"""What a name means at a place."""

import pytest

from dlsp.syntax import languages
from dlsp.syntax.scopes.names import Names
from dlsp.syntax.source import Source

PYTHON = languages.LANGUAGES[0]


def where(text: str, name: str) -> list[tuple[str, str]]:
    """Of each place of a name its kind and the kind of the scope in which it is bound."""
    found = Names(Source(PYTHON), text).uses(name)
    return [(use.kind, use.bound.kind if use.bound else "") for _, use in sorted(found.items())]


def test_a_name_is_bound_in_the_nearest_scope_that_binds_it() -> None:
    text = "import box\n\ndef pack(box):\n    return box\n\ndef other():\n    return box\n"
    module, function = ("name", "module"), ("name", "function")
    assert where(text, "box") == [module, function, function, module]


def test_a_loop_and_a_comprehension_have_names_of_their_own() -> None:
    text = "def f(xs):\n    for x in xs:\n        use(x)\n    return x, [x for x in xs]\n"
    loop, inner = ("name", "loop"), ("name", "function")
    assert where(text, "x") == [loop, loop, ("name", ""), inner, inner]


def test_defaults_and_types_are_looked_up_around_the_function() -> None:
    text = "size = 1\n\ndef f(size: size = size):\n    return size\n"
    module, function = ("name", "module"), ("name", "function")
    assert where(text, "size") == [module, function, module, module, function]


def test_methods_do_not_see_the_names_of_their_class() -> None:
    text = "class A:\n    size = 1\n    double = size\n\n    def f(self):\n        return size, self.size\n"
    of_class = ("name", "class")
    assert where(text, "size") == [of_class, of_class, ("name", ""), ("member", "")]


def test_keywords_and_paths_are_no_names() -> None:
    assert [kind for kind, _ in where("from a.box import c\n\nf(box=box)\n", "box")] == ["path", "keyword", "name"]


def test_offsets_count_characters() -> None:
    assert list(Names(Source(PYTHON), "# äöü\nbox = 'ß', box\n").uses("box")) == [6, 17]


def test_a_name_that_is_imported_as_another_is_bound_by_that() -> None:
    language = languages.of("app.js")
    assert language
    text = 'import { addItem as add } from "./cart";\nadd("tea");\n'
    uses_of = {name: Names(Source(language), text).uses(name).values() for name in ("addItem", "add")}
    bound = {name: [use.bound is not None for use in found] for name, found in uses_of.items()}
    assert bound == {"addItem": [False], "add": [True, True]}


# A file, its text, and for each place of `x` the text from where it is bound, or what it is instead.
BOUND = {
    "global and nonlocal": (
        "a.py",
        "x = 1\n\ndef f():\n    global x\n    x = 2\n\n"
        "def g(x):\n    def h():\n        nonlocal x\n        x = 3\n    return x\n",
        ["x = 1", "x = 1", "x = 1", "def g", "def g", "def g", "def g"],
    ),
    "a name in __all__": ("a.py", '__all__ = ["x", "y"]\nothers = ["x"]\nx = 1\n', ["__all__", "__all__"]),
    "an annotation in quotes": ("a.py", 'class x:\n    y: "x"\n    z: "x or y"\n', ["class x", "class x"]),
    "a case": ("a.py", "def f(a):\n    match a:\n        case x:\n            return x\n", ["def f", "def f"]),
    "a block's name of JavaScript": (
        "a.js",
        "let x = 1;\nfunction f() {\n  if (x) {\n    let x = 2;\n    use(x);\n  }\n  return x;\n}\n",
        ["let x = 1", "let x = 1", "{\n    let", "{\n    let", "let x = 1"],
    ),
    "a `var` of JavaScript": (
        "a.js",
        "function f() {\n  if (a) {\n    var x = 2;\n  }\n  return x;\n}\n",
        ["function", "function"],
    ),
    "an assignment of JavaScript": (
        "a.js",
        "function f(x) {\n  [x, y] = [y, x];\n}\n",
        ["function", "function", "function"],
    ),
    "keys of JavaScript": ("a.js", "let x;\nf({ x: 1, y: x });\n", ["let x", "member", "let x"]),
    "a name shadowed in Rust": (
        "a.rs",
        "fn f(x: u8) -> u8 {\n    let x = x + 1;\n    let x = x * 2;\n    x\n}\n",
        ["fn f", "\n    let x = x * 2", "fn f", "\n    x\n", "\n    let x = x * 2", "\n    x\n"],
    ),
    "a name of `if let`": (
        "a.rs",
        "fn f(x: A) {\n    if let Some(x) = x.b {\n        use_it(x);\n    }\n    drop(x);\n}\n",
        ["fn f", "if let", "fn f", "if let", "fn f"],
    ),
    "a member in a macro of Rust": ("a.rs", 'fn f(x: A) {\n    print!("{}", x.x);\n}\n', ["fn f", "fn f", "member"]),
    "a name that is used before it is declared again in Go": (
        "a.go",
        "package a\n\nfunc f(x int) {\n\tuse(x)\n\tif a {\n\t\tx := x + 1\n\t\tuse(x)\n\t}\n}\n",
        ["func f", "func f", "{\n\t\tx", "func f", "{\n\t\tx"],
    ),
    "a key and a field of Go": (
        "a.go",
        "package a\n\nfunc f(x int) {\n\tuse(T{x: x}, y.x)\n}\n",
        ["func f", "member", "func f", "member"],
    ),
    "a prototype of C": (
        "a.c",
        "int f(int x);\nint g(int x) {\n    return x + y->x;\n}\n",
        ["f(int", "int g", "int g", "member"],
    ),
    "a pointer to a function in C": ("a.c", "int g(int (*x)(int)) {\n    return x(1);\n}\n", ["int g", "int g"]),
    "a lambda of Java": (
        "A.java",
        "class A {\n    void f(int a) {\n        g(x -> x + 1);\n        this.x(a);\n    }\n}\n",
        ["x -> x", "x -> x", "member"],
    ),
}


@pytest.mark.parametrize(("path", "text", "wanted"), BOUND.values(), ids=BOUND)
def test_where_a_name_is_bound(path: str, text: str, wanted: list[str]) -> None:
    language = languages.of(path)
    assert language
    found = [use for _, use in sorted(Names(Source(language), text).uses("x").items())]
    told = [use.bound.start if use.bound and use.kind == "name" else use.kind for use in found]
    assert told == [each if each == "member" else text.index(each) for each in wanted]
