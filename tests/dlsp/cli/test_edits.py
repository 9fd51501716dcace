"""`dlsp edits` as a script uses it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DIFF = """--- a/fees.py
+++ b/fees.py
@@ -1,2 +1,2 @@
-def late_fee(days):
+def overdue_fee(days):
     return days
"""


@pytest.fixture
def project(tmp_path: Path, state_folder: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "fees.py").write_text("def overdue_fee(days):\n    return days\n\n\nprint(late_fee(1))\n")
    (tmp_path / "more.py").write_text("from fees import late_fee\n")
    (tmp_path / "change.diff").write_text(DIFF)
    return tmp_path


def edits(folder: Path, *more: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dlsp", "edits", "--model", "none", *more]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_the_answer_is_a_diff(project: Path) -> None:
    done = edits(project, "--diff", "change.diff")
    assert (done.returncode, done.stderr) == (0, "")
    assert "-print(late_fee(1))\n+print(overdue_fee(1))\n" in done.stdout
    assert "+++ b/more.py\n@@ -1 +1 @@\n-from fees import late_fee\n+from fees import overdue_fee\n" in done.stdout


def test_places_that_are_not_certain_are_reported_and_left_out(project: Path) -> None:
    """A comment names the function, or says something else."""
    (project / "fees.py").write_text("def overdue_fee(days):\n    return days\n\n\n# The late_fee is due.\n")
    done = edits(project, "--diff", "change.diff")
    assert done.returncode == 0
    assert "# The" not in done.stdout
    assert "+from fees import overdue_fee\n" in done.stdout
    assert "dlsp: 1 place may follow too" in done.stderr
    assert "fees.py:5: # The overdue_fee is due." in done.stderr
    sites = json.loads(edits(project, "--diff", "change.diff", "--json").stdout)["sites"]
    assert [each["certain"] for each in sites] == [False, True]


def test_json_from_a_pipe(project: Path) -> None:
    done = edits(project, "--diff", "-", "--json", stdin=DIFF)
    sites = json.loads(done.stdout)["sites"]
    assert [(Path(each["file"]).name, each["line"]) for each in sites] == [
        ("fees.py", 5),
        ("more.py", 1),
    ]


def test_a_diff_that_was_not_applied(project: Path) -> None:
    (project / "fees.py").write_text("def late_fee(days):\n    return days\n")
    done = edits(project, "--diff", "change.diff")
    assert (done.returncode, done.stdout) == (1, "")
    assert "apply it first" in done.stderr
    assert "Traceback" not in done.stderr
