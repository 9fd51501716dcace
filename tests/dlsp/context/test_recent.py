from pathlib import Path

from dlsp.context.recent import MAX_REGIONS, Recent
from dlsp.context.workspace import Workspace

LINES = [f"line {number}\n" for number in range(100)]


def test_what_was_edited_goes_first() -> None:
    recent = Recent()
    recent.note("a.py", LINES, 50, edited=True)
    recent.note("b.py", LINES, 3, edited=False)
    recent.note("c.py", LINES, 0, edited=True)
    assert [(part.path, part.row, part.why) for part in recent.parts("d.py")] == [
        ("c.py", 0, "edited lately"),
        ("a.py", 42, "edited lately"),
        ("b.py", 0, "looked at lately"),
    ]
    assert recent.parts("a.py")[0].path == "c.py"


def test_a_neighbourhood_is_one_region() -> None:
    recent = Recent()
    for row in range(40, 60):
        recent.note("a.py", LINES, row, edited=row == 45)
    (part,) = recent.parts("b.py")
    assert (part.row, part.why) == (51, "edited lately")


def test_it_is_bounded() -> None:
    recent = Recent()
    for number in range(3 * MAX_REGIONS):
        recent.note(f"{number}.py", LINES, 0, edited=True)
    assert len(recent.parts("a.py")) == MAX_REGIONS


def test_in_the_context(project: Path) -> None:
    (project / "b.py").write_text("")
    workspace = Workspace(project)
    workspace.recent.note("b.py", ["edited = 'just now'\n"], 0, edited=True)
    context = workspace.context(project / "a.py", "x = ", "\n")
    assert context.files == [{"path": "b.py", "text": "edited = 'just now'\n"}]
