from collections.abc import Callable
from pathlib import Path

import pytest

from dlsp.context.parts import Context
from dlsp.context.workspace import Workspace

Ask = Callable[..., Context]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def ask(project: Path) -> Ask:
    """Ask for the context at ▮ in a document, in a workspace with these files: `ask(path, document, {path: text})`."""

    def ask(
        path: str, document: str, files: dict[str, str] | None = None, workspace: Workspace | None = None
    ) -> Context:
        for name, text in (files or {}).items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
        workspace = workspace or Workspace(project)
        workspace.bring_up_to_date(60)
        before, after = document.split("▮")
        return workspace.context(project / path, before, after)

    return ask
