"""The last edit in the diffs that clients send."""

import pytest

from dlsp.api.diffs import diffs_of, is_same_file, last_edit

NOW = "import b\n\n\ndef f(x):\n    return y\n\n\nprint(f(1))\n"
WAS = NOW.replace("def f(x)", "def f(y)")
LINES = "-def f(y):\n+def f(x):\n"

HEAD = "--- a/a.py\n+++ b/a.py\n"
DIFFS = {
    "git": f"diff --git a/src/a.py b/src/a.py\nindex 1..2\n--- a/src/a.py\n+++ b/src/a.py\n@@ -4 +4 @@ x\n{LINES}",
    "with context": f"{HEAD}@@ -2,4 +2,4 @@\n \n \n{LINES}     return y\n",
    "blank lines of context without their blank": f"{HEAD}@@ @@\n\n\n{LINES}     return y\n\n\n",
    "zeta": f'User edited "src/a.py":\n```diff\n@@ -4 +4 @@\n{LINES}```\n',
    "instinct": f'User edited file "a.py"\n\n```diff\n{LINES}```',
    "sweep": f"File: src/a.py:\n@@ -4 +4 @@\n{LINES}",
    "lines alone": LINES,
    "behind another file's": f"--- a/c.py\n+++ b/c.py\n@@ -1 +1 @@\n-c = 1\n+c = 2\n{HEAD}{LINES}",
    "behind an accepted one": f"{HEAD}-print(0)\n+print(f(1))\n// accepted\n{HEAD}{LINES}",
    "typed in two steps": f"{HEAD}-def f(y):\n+def f():\n{HEAD}-def f():\n+def f(x):\n",
    "without an end of the line": f"{HEAD}@@ -4 +4 @@\n{LINES}\\ No newline at end of file\n",
}


@pytest.mark.parametrize("name", DIFFS)
def test_the_text_before_the_last_edit(name: str) -> None:
    edit = last_edit(diffs_of(DIFFS[name]), "src/a.py", NOW)
    assert edit
    assert edit.text == WAS
    assert edit.ranges() == [(3, 4)]


def test_what_was_only_taken_away() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -3,3 +3,2 @@\n \n-x = 1\n def f(x):\n"
    edit = last_edit(diffs_of(diff), "a.py", NOW)
    assert edit
    assert edit.text == NOW.replace("\n\n\ndef", "\n\n\nx = 1\ndef")


@pytest.mark.parametrize(
    "diff",
    [
        "",
        "nothing of a diff",
        " only\n context\n",
        "--- a/c.py\n+++ b/c.py\n@@ -4 +4 @@\n" + LINES,  # another file's
        "-def g(y):\n+def g(x):\n",  # not there
        "@@ -4 +3,0 @@\n-def f(y):\n",  # nothing says where it was, should the number be wrong
        "-x\n+\n",  # there are several such lines
        "@@ -4 +4 @@\n" + LINES + "@@ -9 +9 @@\n-a\n+b\n",  # the second hunk is not there
    ],
)
def test_no_edit_whose_place_is_not_certain(diff: str) -> None:
    assert last_edit(diffs_of(diff), "src/a.py", NOW) is None


def test_of_several_places_the_one_that_the_diff_names() -> None:
    text = "a = 1\nb\na = 1\n"
    edit = last_edit(diffs_of("@@ -3 +3 @@\n-a = 0\n+a = 1\n"), "a.py", text)
    assert edit
    assert edit.text == "a = 1\nb\na = 0\n"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("src/a.py", "src/a.py", True),
        ("a.py", "/home/ada/src/a.py", True),
        ("", "a.py", True),
        ("src/a.py", "lib/a.py", False),
        ("b.py", "a.py", False),
        ("ba.py", "a.py", False),
    ],
)
def test_paths_of_the_same_file(one: str, other: str, same: bool) -> None:
    assert is_same_file(one, other) is same
    assert is_same_file(other, one) is same
