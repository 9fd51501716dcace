"""Reading ignore rules never holds the server up."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from lsprotocol import types

from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

TEXT = "def add(a, b):\n    return \n"
GIT_S = 1.5


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git that takes its time; the file that says that it was run."""
    program, ran = tmp_path / "bin" / "git", tmp_path / "ran"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho >> {ran}\nsleep {GIT_S}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return ran


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


async def answer_s(editor: Editor, project: Path) -> float:
    """Seconds until an answer about one document, directly after another was opened and edited."""
    editor.open((project / "a.py").as_uri(), TEXT)
    editor.type((project / "a.py").as_uri(), 1, 11, "a")
    began = time.monotonic()
    await editor.client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier((project / "b.py").as_uri()),
            types.Range(types.Position(0, 0), types.Position(0, 0)),
            types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Automatic),
        )
    )
    return time.monotonic() - began


async def test_a_slow_git(stub: StubEngine, slow_git: Path, project: Path) -> None:
    async with Editor(project) as editor:
        assert await answer_s(editor, project) < GIT_S / 2
        async with asyncio.timeout(30):  # the rules are known some time later
            while await editor.suggestion((project / "a.py").as_uri(), 1, 12) is None:
                await asyncio.sleep(0.05)
    assert slow_git.exists()


async def test_off_reads_nothing(stub: StubEngine, slow_git: Path, project: Path) -> None:
    async with Editor(project, options={"suggest": "off"}) as editor:
        assert await answer_s(editor, project) < GIT_S / 2
        assert await editor.suggestion((project / "a.py").as_uri(), 1, 12) is None
    assert not slow_git.exists()
