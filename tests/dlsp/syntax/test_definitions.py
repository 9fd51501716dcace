import pytest

from dlsp.syntax import languages
from dlsp.syntax.definitions import definitions
from dlsp.syntax.outline import outline
from dlsp.syntax.source import Source

CASES = {
    "a.py": (
        "@x\nclass A(B):\n    y: int = 3\n    async def f(self): pass\nif T:\n    def h(): pass\ndef broken(a:\n",
        "A A.y A.f h",
    ),
    "a.js": (
        "export class A { f(a) {} }\nconst g = (a) => a;\nexport default function h() {}\nlet z = 3;\n",
        "A A.f g h z",
    ),
    "a.ts": (
        "export interface I { f(): void }\ntype T = string;\nenum E { A }\nnamespace N { function z() {} }",
        "I I.f T E N N.z",
    ),
    "a.tsx": ("export function F() { return <b/>; }\n", "F"),
    "a.go": (
        "package a\ntype T struct { a int }\nfunc (t *T) M() {}\nfunc F() {}\nconst (\n A = 1\n B = 2\n)\n",
        "T M F A B",
    ),
    "a.rs": (
        "pub struct S;\nimpl<T> X for S<T> { fn f(&self) {} }\ntrait X { fn g(); }\nconst C: i32 = 1;\n",
        "S S S.f X X.g C",
    ),
    "A.java": (
        "public class A<T> { private int x = 1; public A() {} @Override int f() { return 1; } }",
        "A A.x A.A A.f",
    ),
    "a.c": ("#define X 1\nstruct s { int a; };\nstatic int *f(int a) { return 0; }\nint g(int);\nint v;\n", "X s f g"),
    "a.cpp": (
        "namespace n { class A { int f() { return 1; } B &g() { return b; } }; }\nint A::m() { return 2; }\n"
        "const A& A::r() { return a; }\nA&& s(int a);\nA &v = a;\n",
        "n n.A A.f A.g m r s",
    ),
    "a.cs": ("namespace N { class A { int P { get; set; } int F() { return 1; } } }", "N N.A A.P A.F"),
    "a.rb": ("module M\n class A\n  def f; end\n  def self.g; end\n end\nend\nX = 3\n", "M M.A A.f A.g X"),
    "a.lua": ("local M = {}\nfunction M.f(a) return 1 end\nlocal function g() end\n", "M f g"),
    "a.sh": ("f() { echo 1; }\nX=3\n", "f X"),
    "a.json": ('{"a": 1}', ""),
}


def parsed(path: str, text: str) -> tuple[Source, list]:
    language = languages.of(path)
    assert language
    source = Source(language)
    tree = source.update(text)
    assert tree
    return source, list(definitions(tree, source.bytes, language))


@pytest.mark.parametrize("path", CASES)
def test_definitions(path: str) -> None:
    text, names = CASES[path]
    _, found = parsed(path, text)
    assert [f"{each.parent.name}.{each.name}" if each.parent else each.name for each in found] == names.split()


OUTLINES = {
    "a short function": ("def f(a):\n    return a\n", "def f(a):\n    return a"),
    "a function": (
        "def f(\n    a: int,\n) -> str:\n    '''Say a.\n\n    More.'''\n" + "    a += 1\n" * 6,
        "def f(\n    a: int,\n) -> str:\n    '''Say a.'''\n    ...",
    ),
    "a class": (
        "class A(B):\n    '''Doc.'''\n\n    x = 1\n\n    @property\n    def f(self):\n" + "        g()\n" * 6,
        "class A(B):\n    x = 1\n    @property\n    def f(self): ...",
    ),
    "a constant": ("X = {\n    'a': 1,\n}\n", "X = {\n    'a': 1,\n}"),
}


@pytest.mark.parametrize("case", OUTLINES)
def test_outline(case: str) -> None:
    text, expected = OUTLINES[case]
    source, found = parsed("a.py", text)
    assert outline(found[0], found[1:], source.bytes, source.language) == expected


def test_an_outline_is_bounded() -> None:
    source, found = parsed(
        "a.js", "class A {\n" + "".join(f"  f{n}(a, b, c) {{\n    g();\n  }}\n" for n in range(500)) + "}\n"
    )
    text = outline(found[0], found[1:], source.bytes, source.language)
    assert len(text) < 1300
    assert text.startswith("class A {\n  f0(a, b, c) { ... }\n")
    assert text.endswith("\n}")
