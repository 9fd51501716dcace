"""The gaps of bench.names, and what it says of names."""

from pathlib import Path

from bench.names import NameGap, chosen, gaps, unknown

FILE = """import json

def load(path):
    with open(path) as file:
        found = json.loads(file.read())
    return found.items()  # no gap in a line with a comment
"""


def test_gaps_are_at_dots_and_calls(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text(FILE)
    found = list(gaps(tmp_path))
    assert all(gap.before + gap.right + gap.after == FILE for gap in found)
    assert {(gap.kind, gap.right) for gap in found} == {
        ("call", "open(path) as file:"),
        ("member", "loads(file.read())"),
        ("member", "read())"),
    }
    assert [gap.kind for gap in chosen(found, 2, seed=0)] == ["member", "call"]


def test_names_exist_in_the_file_its_imports_and_python() -> None:
    gap = NameGap("dlsp", "dlsp/a.py", "member", "import json\n\ndef f(own):\n    x = json.", "loads(own)", "\n")
    assert unknown(gap, "loads(own).items()") == []
    assert unknown(gap, "load_text(own, key=len(x)).nothing_like_it") == ["load_text", "nothing_like_it"]
    assert unknown(gap, "load(own, key=lambda each_one: each_one(1))") == []
    assert unknown(gap, "loads('a.no_name_at_all()')") == []
