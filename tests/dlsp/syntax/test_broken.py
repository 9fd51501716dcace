"""Golden cases, and real files: what stands in a file that parses is never cut."""

import random
import time
from pathlib import Path

import pytest

from dlsp.syntax import languages
from dlsp.syntax.broken import cut_broken
from dlsp.syntax.rehearsal import DEADLINE_S
from dlsp.syntax.source import SHARED, Source
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "fine": ("a.py", "def f(a):\n    ▮return a + 1▮▯\n"),
    "broken in its second line": ("a.py", "def f(a):\n    ▮b = a + 1▮\n    return = b▯\n"),
    "broken in its only line": ("a.py", "def f(a):\n    ▮▮b = = 1▯\n"),
    "a call only begun": ("a.py", "def f(a):\n    ▮return g(a,▮▯\n"),
    "a block only begun": ("a.py", "def f(a):\n    ▮if a:▮▯\n\n\ndef g():\n    pass\n"),
    "the rest of a statement only begun": ("a.py", "x = [\n    1,\n    ▮2,▮▯\n\n\ndef g():\n    pass\n"),
    "a document that is broken elsewhere": ("a.py", "def g(:\n    pass\n\n\nx = ▮1▮\ny = = 2▯\n"),
    "a head whose bracket is closed already": ("a.py", "class A:\n    def f(self, ▮name▮▯)\n\n    x = 1\n"),
    "a condition whose quote is closed already": ("a.py", 'def f(a):\n    pass\n\n\nif __name__ == "▮__main__▮▯"\n'),
    "a loop whose brackets are closed already": ("a.js", "function f(a) {\n  for (let i = 0; i < ▮a.length▮▯)\n}\n"),
    "broken before a bracket that is closed already": ("a.py", "def f(a):\n    g(a, ▮▮= = 2▯)\n"),
    "javascript": ("a.js", "function f(a) {\n  ▮const b = a;▮\n  return } b;▯\n}\n"),
    "a brace only opened": ("a.go", "package a\n\nfunc f() {\n\t▮for i := 0; i < 3; i++ {▮▯\n}\n"),
    "a head without its block": ("a.js", "function f(a) {\n  ▮if (a)▮▯\n}\n"),
    "a loop of Go only begun": ("a.go", "func f() {\n\t▮for▮▯\n}\n"),
    "a loop of Rust without its block": ("a.rs", "fn f() {\n    ▮for a in b▮▯\n}\n"),
    "a condition of the preprocessor only begun": ("a.c", "▮#ifdef A\nint a;▮▯\n"),
    "cases of a shell only begun": ("a.sh", 'f() {\n  ▮case "$1" in\n    a)▮▯\n}\n'),
    "a loop in a condition of a shell": ("a.sh", "▮if [ -f x ]; then\n  for f in *; do▮▯\n"),
    "a loop of a shell, its body begun": ("a.sh", "f() {\n  ▮for a in *; do\n    b▮▯\n}\n"),
    "a loop of a shell only begun": ("a.sh", "f▮or file in *; do\n  if [ -f x ]; then▮▯\n"),
    "a condition of a shell whose body is there": ("a.sh", 'if [ -z "$x" ▮];▮▯\n  a\nfi\n'),
    "a loop of a shell whose body is there": ("a.sh", "while ▮read -r x▮▯\n  a\ndone\n"),
    "a condition of a shell that nothing finishes": ("a.sh", "i▮▮f [ -f x ]; then; done (▯\n"),
    "a method of Ruby without its end": ("a.rb", "class A\n  ▮def f(a)▮▯\nend\n"),
    "a method of Ruby only begun": ("a.rb", "class A\n  d▮ef push(item)\n    if item▮▯\nend\n"),
    "a function of Lua only begun": ("a.lua", "l▮ocal function f(a)▮▯\n\nx = 1\n"),
    "a class of C++ only begun": ("a.cpp", "▮class A {\npublic:▮▯\n\nint x;\n"),
    "a struct of C only begun": ("a.c", "▮typedef struct {\n  int a;▮▯\n\nint x;\n"),
    "a template only begun": ("a.cpp", "class A {\n  ▮template <typename T>▮▯\n};\n"),
    "an annotation of Java": ("A.java", "class A {\n  ▮@Override▮▯\n}\n"),
    "a field of Java without its end": ("A.java", "class A {\n  ▮private int a▮▯\n}\n"),
    "a method of Java without its block": ("A.java", "class A {\n  ▮public A()▮▯\n}\n"),
    "a try of Java only begun": ("A.java", "class A {\n  void f() {\n    ▮try {▮▯\n  }\n}\n"),
    "a match of Rust only begun": ("a.rs", "fn f() {\n    ▮let x = match y {\n        Some(z) => z,▮▯\n}\n"),
    "tags only begun": ("a.tsx", "function F() {\n  ▮return (\n    <ul>\n      {a.map((b) => (\n        <li>▮▯\n}\n"),
    "a tag begun before the cursor": ("a.tsx", "function F() {\n  return <b>\n    <▮ul>▮▯\n  </b>;\n}\n"),
    "broken between tags": ("a.tsx", "function F() {\n  return <b>\n    ▮▮<ul>{= =}</ul>▯\n  </b>;\n}\n"),
    "an object only begun before another": ("a.json", '{\n  ▮"a": {\n    "b": 1▮▯\n  "c": 2\n}\n'),
    "an entry without its comma before another": ("a.json", '{\n  ▮▮"a": 1▯\n  "c": 2\n}\n'),
    "an entry only begun before another": ("a.py", "a = {\n    ▮1: [\n        2,▮▯\n    3: 4,\n}\n"),
    "a docstring only begun": ("a.py", 'def f():\n    ▮"""Do a.\n\n    Args:▮▯\n\nx = 1\n'),
    "a docstring that is still open": ("a.py", 'def f():\n    """Do ▮a.\n\n    Args:▮▯\n\nx = [1, "a"]\n'),
    "a comment that is still open": ("a.ts", "/**\n * Finds ▮a user.\n * @param▮▯\nfunction f(a: A[]) {\n  a();\n}\n"),
    "json": ("a.json", '{\n  "a": 1▮,\n  "b": [2]▮,\n  "c" 3▯\n}\n'),
}


@pytest.mark.parametrize("case", CASES)
def test_cut_broken(case: str) -> None:
    path, document = CASES[case]
    language = languages.of(path)
    assert language
    marked = golden(document)
    assert cut_broken(marked.answer, marked.before, marked.after, Source(language)) == marked.kept


def test_plain_text_is_left() -> None:
    assert cut_broken("= = (", "x", "\n", None) == "= = ("


def test_what_is_mostly_no_code_says_nothing() -> None:
    template = "{% for each in items %}\nx = {{ each.name }}\n{% endfor %}\n" * 12
    code = "import sys\n\ndef f(a):\n    while a:\n        a -= 1\n    return a\n\n"
    before, text = f"{template}{code}if a:\n    if b:\n        c(1)\n    else:\n        ", 'c("No")'
    language = languages.of("a.py")
    assert language
    source = Source(language)
    source.update(before)
    assert cut_broken(text, before, "", source) == text
    assert cut_broken("c(= =", before[len(template) :], "", Source(language)) == ""


def test_what_is_right_is_never_cut() -> None:
    chance = random.Random(7)
    language = languages.of("a.py")
    assert language
    files = sorted(Path(random.__file__).parent.glob("*.py"))
    for file in chance.sample(files, 40):
        text, source = file.read_text(encoding="utf-8"), Source(language)
        for _ in range(5):
            start = chance.randrange(len(text))
            end = text.find("\n", start)
            for _ in range(chance.randrange(3)):
                end = text.find("\n", end + 1) if end >= 0 else end
            right = text[start : end if end >= 0 else len(text)].rstrip()
            if right:
                left = text[start + len(right) :]
                assert cut_broken(right, text[:start], left, source) == right, f"{file.name} at {start}"


def test_an_answer_is_checked_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    language = languages.of("a.sh")
    assert language
    before = "f() {\n  a\n}\n" * 200
    source = Source(language)
    assert source.update(before + "\n")
    asked, child = [], SHARED._child
    assert child
    ask = child.ask
    monkeypatch.setattr(child, "ask", lambda *given: asked.append(given) or ask(*given))
    # Only the last of many endings finishes it.
    answer = "for a in *; do\n  if [ -f x ]; then"
    assert cut_broken(answer, before, "\n", source) == answer
    assert len(asked) == 1


def until_parsed(source: Source) -> None:
    deadline = time.monotonic() + 30
    while source.update("\n" * 2_000) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("path", "text"), [("A.java", "a<" * 20_000), ("a.rb", "<!--" * 20_000)])
def test_an_answer_that_takes_too_long_is_left(path: str, text: str) -> None:
    language = languages.of(path)
    assert language
    source = Source(language)
    until_parsed(source)
    began, computed = time.monotonic(), time.process_time()
    assert cut_broken(text, "\n" * 1_000, "\n" * 1_000, source) == text
    assert time.process_time() - computed < DEADLINE_S, "this process only waits"
    assert time.monotonic() - began < 4 * DEADLINE_S
    until_parsed(Source(language))  # the child may have been killed; it is started again
