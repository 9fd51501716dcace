"""The surroundings of a place: small, sound where the document is, and with what stands at the place."""

import time

import pytest

from dlsp.syntax import languages
from dlsp.syntax.broken import cut_broken
from dlsp.syntax.source import Source, encoded

METHODS = "".join(f"    def f{number}(self, a):\n        return a + {number}\n\n" for number in range(2_000))
FUNCTIONS = "".join(f"  f{number}(a) {{\n    return {{ b: a }};\n  }}\n" for number in range(2_000))
ONES = "    1,\n" * 5_000
DOCUMENTS = {
    "a class": ("a.py", f"import os\n\n\nclass A:\n{METHODS}", "return a + 1000"),
    "functions": ("a.py", METHODS.replace("    def", "def"), "return a + 1000"),
    "a string": ("a.py", f'def f():\n    """First\n{METHODS}"""\n    return 1\n', "return a + 1000"),
    "a list": ("a.py", f"x = [\n{ONES}    2,\n{ONES}]\n", "2,"),
    "javascript": ("a.js", f"class A {{\n{FUNCTIONS}}}\n", "f1000(a) {"),
    "a comment": ("a.js", f"f();\n/* first\n{FUNCTIONS}*/\ng();\n", "f1000(a) {"),
}


def source(path: str) -> Source:
    language = languages.of(path)
    assert language
    return Source(language)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_surroundings(name: str) -> None:
    path, text, place = DOCUMENTS[name]
    kept, at = source(path), text.index(place)
    found = kept.around(text[:at], text[at:], 500)
    assert found
    before, after = found
    assert len(before + after) < 5_000
    assert text[:at].endswith(before[-200:])
    assert text[at:].startswith(after[:200])
    # Siblings may be cut off at a comma; nothing else is broken.
    part = source(path)
    assert part.errors(part.update(before + after), len(encoded(before))) <= (name == "a list")


def test_a_short_document_is_whole() -> None:
    found = source("a.py").around("x = (", ")\n", 500)
    assert found
    assert found == ("x = (", ")\n")


def test_deep_trees_and_long_lines() -> None:
    for text in ("[" * 20_000, "x = '" + "é" * 20_000 + "'"):
        kept = source("a.py")
        for at in (0, 1, 10_000, len(text)):
            found = kept.around(text[:at], text[at:], 500)
            assert found
            assert len("".join(found)) < 5_000
            assert "\ufffd" not in "".join(found)


def test_an_answer_in_a_long_document_costs_a_fraction_of_its_parse() -> None:
    text, kept = f"class A:\n{METHODS * 8}", source("a.py")
    began = time.process_time()
    kept.update(text)
    whole = time.process_time() - began
    at = text.index("return a + 1000")
    times = []
    for typed in "total = self.f1(a)":
        text = text[:at] + typed + text[at:]
        at += 1
        began = time.process_time()
        cut_broken("\n        x = = 1", text[:at], text[at:], kept)
        times.append(time.process_time() - began)
    assert sorted(times)[len(times) // 2] < whole / 3
