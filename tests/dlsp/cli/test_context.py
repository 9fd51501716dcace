import json
from pathlib import Path

import pytest

from dlsp.cli import main
from dlsp.completions.infill import request
from dlsp.context.workspace import around

STORE = "class Store:\n    def lend(self, book, reader):\n" + "        go()\n" * 9
APP = "from store import Store\n\n\ndef main():\n    shelf = Store(\n"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "store.py").write_text(STORE)
    (project / "app.py").write_text(APP)
    return project / "app.py"


def test_what_the_model_would_see(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", f"{app}:5:19"]) == 0
    out = capsys.readouterr().out
    assert "▌ store.py, line 1, about" in out
    assert "defines Store, imported here" in out
    assert "def lend(self, book, reader): ..." in out
    assert "    shelf = Store(▮\n" in out
    assert out.index("lend") < out.index("def main")


def test_exactly_what_is_sent(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", f"{app}:5:19", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    sent = request(around(app).context(app, APP[:-1], "\n"), end="line")
    assert shown["files"] == sent["files"]
    assert {name: shown[name] for name in ("prefix", "suffix")} == sent["gaps"][0]
    assert shown["path"] == "app.py"
    assert {part["where"] for part in shown["parts"]} == {"other", "prefix", "suffix"}


def test_a_file_beside_the_folder(
    app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (app.parent / "tests").mkdir()
    monkeypatch.chdir(app.parent / "tests")
    assert main(["context", "../app.py:5:19", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "app.py"


def test_an_excluded_file(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.write_text(APP + "\n\ndef late():\n    ...\n")
    (app.parent / ".env").write_text("KEY=1\n")
    (app.parent / ".dlspignore").write_text("app.py\n")
    assert main(["context", f"{app.parent / '.env'}:1:1"]) == 1
    assert "its name says that it holds secrets" in capsys.readouterr().err
    for command in ("context", "complete", "fill"):
        assert main([command, f"{app}:8:1"]) == 1
        assert "app.py is never shown to the model: .dlspignore excludes it." in capsys.readouterr().err


def test_a_reason_is_given_once(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.write_text("def long(a):\n" + "    a = a + 1\n" * 500)
    assert main(["context", f"{app}:500:5", "--tokens", "200"]) == 0
    (heading,) = [line for line in capsys.readouterr().out.splitlines() if "the enclosing function long" in line]
    assert heading.endswith(": the enclosing function long, its last lines")


def test_the_budget(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.write_text("x = 1\n" * 2000)
    for tokens in (200, 1000):
        main(["context", f"{app}:1000:1", "--json", "--tokens", str(tokens)])
        parts = json.loads(capsys.readouterr().out)["parts"]
        assert 0.8 * tokens < sum(part["tokens"] for part in parts) <= tokens
