"""Values that look like keys stay in their file: fifty kinds are planted in files that others import."""

from pathlib import Path

from dlsp.context.workspace import Workspace
from dlsp.index.store import Store, place
from tests.dlsp.ignore.planted import LINES


def plant(project: Path) -> dict[str, str]:
    """The value of each module's setting."""
    values = {}
    for number, (line, value) in enumerate(LINES.values()):
        inner = line.replace("\n", "\n    ")
        text = f"import os\n\n{line}\n\n\nclass Settings{number}:\n    {inner}\n    RETRIES = 3\n"
        (project / f"module{number}.py").write_text(f"{text}\n\ndef use{number}():\n    {inner}\n")
        values[f"module{number}.py"] = value
    return values


def test_no_kind_is_in_the_index(project: Path) -> None:
    values = plant(project)
    Workspace(project).bring_up_to_date(120)
    index = Store.read(place(project))
    assert index
    found = list(index._db.execute("select path, name, text from symbols join files on files.id = file"))
    assert {f"Settings{number}" for number in range(len(values))} <= {name for _, name, _ in found}
    assert [(path, name) for path, name, text in found if values[path] in text] == []
    index.close()
    # Nor anywhere else in its files.
    stored = b"".join(file.read_bytes() for file in place(project).parent.iterdir())
    assert [value for value in values.values() if value.encode() in stored] == []


def test_no_kind_is_in_the_prompt_of_another_file(project: Path) -> None:
    """Neither by an import nor as the surroundings of an edit."""
    values = plant(project)
    workspace = Workspace(project, budget=4096)
    workspace.bring_up_to_date(120)
    missing = []
    for number, (path, value) in enumerate(values.items()):
        lines = (project / path).read_text().splitlines(keepends=True)
        workspace.recent.note(path, lines, 2, edited=True)
        before = (
            f"from module{number} import Settings{number}, use{number}\n\n\nsettings = Settings{number}()\nsettings."
        )
        context = workspace.context(project / "app.py", before, "\n")
        text = "".join(part.text for part in context.others)
        assert value not in text
        if f"Settings{number}" not in text:
            missing.append(path)
    assert missing == [], "their files are in the prompt all the same"


def test_a_value_of_the_file_itself_is_in_its_own_prompt(project: Path) -> None:
    line, value = LINES["GitHub"]
    context = Workspace(project).context(project / "app.py", f"{line}\n\n\ndef f():\n    ", "\n")
    assert value in context.window.prefix
