"""An editor and the command line ask the engine the same at the same place, other files included."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

EXAMPLES = Path(__file__).parents[2] / "examples"
LINE = "    return min("


async def test_the_command_line_asks_what_an_editor_asks(
    stub: StubEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "root"
    shutil.copytree(EXAMPLES / "lending", root / "lending")
    (root / ".git").mkdir()
    file = root / "lending" / "fines.py"
    before, after = file.read_text().split(f"{LINE}cents, HIGHEST_FINE")
    file.write_text(f"{before}{LINE}{after}")
    line, column = before.count("\n"), len(LINE)

    # The command line first: it waits for the index, which an editor's first request would not.
    command = [sys.executable, "-m", "dlsp", "complete", f"{file}:{line + 1}:{column + 1}", "--json"]
    await asyncio.to_thread(subprocess.run, command, check=True, stdout=subprocess.DEVNULL, timeout=60)
    async with Editor(root, encoding="utf-8", options={"suggest": "eager"}) as editor:
        editor.open(file.as_uri(), f"{before}{LINE}{after}")
        await editor.suggestion(file.as_uri(), line, column)
    alone, edited, *_ = stub.requests
    assert [each["path"] for each in alone["files"]] == ["lending/models.py"]
    assert edited["gaps"][0].pop("session") == file.as_uri()
    assert alone.pop("schedule") == "split", "the engine's default, which an editor leaves out"
    assert alone == edited
