"""A diff that a file has already: the text before it, or a sentence that says what is wrong."""

from pathlib import Path

import pytest

from dlsp.edits.history.patch import read_patch
from dlsp.errors import UserError

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n@@ -9,1 +9,2 @@\n z\n+end\n"
BEFORE = "a\nb\nd\n" + "-\n" * 5 + "z\n"
AFTER = "a\nc\nd\n" + "-\n" * 5 + "z\nend\n"


def test_the_text_before(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(AFTER)
    assert read_patch(DIFF, tmp_path) == (tmp_path / "x.py", BEFORE)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("é.py", '"a/\\303\\251.py"'),
        ('a "b".py', '"a/a \\"b\\".py"'),
        ('é "b".py', '"a/é \\"b\\".py"'),
        ("é.py", "a/é.py"),
    ],
)
def test_names_between_quotes(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text(AFTER)
    diff = DIFF.replace("a/x.py", said).replace("b/x.py", said.replace("a/", "b/", 1))
    assert read_patch(diff, tmp_path) == (tmp_path / name, BEFORE)


@pytest.mark.parametrize(
    ("diff", "text", "sentence"),
    [
        (DIFF, BEFORE, "apply it first"),
        ("nothing", AFTER, "one file"),
        (DIFF + DIFF.replace("x.py", "y.py"), AFTER, "one file"),
        (DIFF.replace("x.py", "none.py"), AFTER, "cannot be read"),
    ],
)
def test_what_is_wrong(tmp_path: Path, diff: str, text: str, sentence: str) -> None:
    (tmp_path / "x.py").write_text(text)
    with pytest.raises(UserError, match=sentence):
        read_patch(diff, tmp_path)
