"""What is printed as a diff is one that git applies."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine

FUNCTION = "x = '\u00e9'\n\n\ndef add(a, b):\n    ...\n"
FEES = "def late_fee(days):\n    return days\n\n\nprint(late_fee(1))\n"
MORE = "from fees import late_fee\n\n\n\n\n\n\nprint(late_fee(2))"


def dlsp(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = [sys.executable, "-m", "dlsp", *arguments]
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    settings = ["-c", "core.autocrlf=false", "-c", "user.name=A", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", *settings, *arguments], cwd=folder, input=stdin, capture_output=True, timeout=60, check=True
    ).stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sum.py", FUNCTION),
        ("sum.py", FUNCTION.replace("\n", "\r\n")),
        ("sum.py", FUNCTION.removesuffix("\n")),
        ("sum.py", FUNCTION.replace("\n", "\r\n").removesuffix("\r\n")),
        ("sum.py", FUNCTION + "\x0c\nadd(1, 2)"),
        ("sum.py", "\ufeff" + FUNCTION.removeprefix("x = '\u00e9'\n\n\n").replace("\n", "\r\n")),
        ("a sum.py", FUNCTION),
    ],
    ids=["plain", "crlf", "no final newline", "crlf and no final newline", "a form feed", "mark", "blank in the name"],
)
def test_a_body_as_git_applies_it(tmp_path: Path, stub: StubEngine, name: str, text: str) -> None:
    stub.answer = lambda request: "c = a + b\n    return c"
    (tmp_path / name).write_bytes(text.encode())
    line = text.split("\n").index(next(each for each in text.split("\n") if "def add" in each)) + 1
    diff = dlsp(tmp_path, "fill", f"{name}:{line}")
    git(tmp_path, "apply", "-p0", stdin=diff)
    ending = "\r\n" if "\r" in text else "\n"
    body = f"    c = a + b{ending}    return c"
    assert (tmp_path / name).read_bytes().decode() == text.replace("    ...", body)


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", ["\n", ""], ids=["final newline", "none"])
def test_edits_as_git_applies_them(tmp_path: Path, state_folder: Path, ending: str, last: str) -> None:
    def put(name: str, text: str) -> None:
        (tmp_path / name).write_bytes((text.removesuffix("\n") + last).replace("\n", ending).encode())

    put("fees.py", FEES)
    put("more.py", MORE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "fees.py", "more.py")
    put("fees.py", FEES.replace("def late", "def overdue"))
    change = git(tmp_path, "diff", "fees.py")
    diff = dlsp(tmp_path, "edits", "--model", "none", "--diff", "-", stdin=change)
    git(tmp_path, "apply", stdin=diff)
    for name, text in (("fees.py", FEES), ("more.py", MORE)):
        wanted = (text.removesuffix("\n") + last).replace("\n", ending).replace("late_fee", "overdue_fee")
        assert (tmp_path / name).read_bytes().decode() == wanted


def test_a_diff_whose_line_ends_were_changed_on_its_way(tmp_path: Path, state_folder: Path) -> None:
    (tmp_path / "fees.py").write_text(FEES.replace("def late", "def overdue"))
    change = "--- a/fees.py\n+++ b/fees.py\n@@ -1 +1 @@\n-def late_fee(days):\n+def overdue_fee(days):\n"
    stdin = change.replace("\n", "\r\n").encode()
    diff = dlsp(tmp_path, "edits", "--model", "none", "--diff", "-", stdin=stdin)
    assert b"+print(overdue_fee(1))" in diff


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_change_of_the_last_line_where_it_has_no_end(tmp_path: Path, state_folder: Path, ending: str) -> None:
    text = "print(late_fee(1))\n\n\ndef late_fee(days): return days * 2".replace("\n", ending)
    (tmp_path / "fees.py").write_bytes(text.encode())
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "fees.py")
    (tmp_path / "fees.py").write_bytes(text.replace("def late", "def overdue").encode())
    diff = dlsp(tmp_path, "edits", "--model", "none", "--diff", "-", stdin=git(tmp_path, "diff", "fees.py"))
    git(tmp_path, "apply", stdin=diff)
    assert (tmp_path / "fees.py").read_bytes().decode() == text.replace("late_fee", "overdue_fee")
