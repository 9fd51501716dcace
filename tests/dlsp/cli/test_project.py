"""The command line takes the project's `[tool.dlsp]` as the editor does."""

import json
from pathlib import Path

import pytest

from dlsp.cli import main
from tests.dlsp.stub_engine import MODEL, StubEngine

Output = pytest.CaptureFixture[str]

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,1 +1,1 @@\n-from store import Shop\n+from store import Store\n"


@pytest.fixture
def app(tmp_path: Path, stub: StubEngine, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "store.py").write_text("class Store:\n    def lend(self, book): ...\n\n\nShop = Store\n")
    (project / "app.py").write_text("from store import Store\n\n\ndef lend(book):\n    pass\n")
    monkeypatch.chdir(project)
    return project / "app.py"


def has(table: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.dlsp]\n{table}\n")


def commands(file: Path) -> list[list[str]]:
    Path("change.diff").write_text(DIFF)
    return [
        ["context", f"{file}:5:5"],
        ["complete", f"{file}:5:5"],
        ["fill", f"{file}:5"],
        ["edits", "--diff", "change.diff"],
    ]


def test_what_the_project_excludes_is_not_read(app: Path, stub: StubEngine, capsys: Output) -> None:
    has("")
    assert main(["context", f"{app}:5:5", "--json"]) == 0
    assert [each["path"] for each in json.loads(capsys.readouterr().out)["files"]] == ["store.py"]
    has('ignore = ["store.py"]')
    assert main(["context", f"{app}:5:5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == []
    for command in commands(app):
        assert main(command) == 0
    assert "store.py" not in capsys.readouterr().out
    assert len(stub.asked) == 2
    assert all("files" not in each for each in stub.asked)
    has('ignore = ["app.py"]')
    for command in commands(app):
        assert main(command) == 1
        assert "never shown to the model" in capsys.readouterr().err


def test_an_option_goes_before_the_project(app: Path, stub: StubEngine, capsys: Output) -> None:
    has('mode = "diffusion"\nmodel = "1.5b"')
    for command in commands(app)[1:]:
        assert main(command) == 1
        assert "1.5b" in capsys.readouterr().err, "it is not here"
    for more, mode in (([], "diffusion"), (["--mode", "autoregressive"], "autoregressive")):
        stub.requests.clear()
        for command in commands(app)[1:3]:
            assert main([*command, "--model", MODEL, *more]) == 0
        assert [each["mode"] for each in stub.requests] == [mode, mode]


def test_what_cannot_be_used_is_said(app: Path, capsys: Output) -> None:
    for table, said in (
        ("mode = [", "cannot be read"),
        ('mode = "quick"', "There is no mode 'quick'"),
        ("threads = 2", "'threads' cannot be set in pyproject.toml"),
    ):
        has(table)
        assert main(["context", f"{app}:5:5"]) == 0
        assert said in capsys.readouterr().err
