"""Secrets are planted wherever context can come from, and looked for in all that is sent to the engine.

A real server, asked by an editor; the engine behind it writes down what it is sent.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcException

from dlsp.ignore.rules import MAX_FILE_BYTES
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

pytestmark = pytest.mark.asyncio

SECRET = "hunter2"
APP = """\
import allowed
from allowed import shown_helper
from hidden import hidden_helper
from dlsp_hidden import dlsp_helper
from glob_hidden import glob_helper
from linked import linked_helper
from linked_folder.module import folder_helper
from aliased import aliased_helper
from huge import huge_helper
from binary import binary_helper
from id_rsa import key_helper
from settings_env import env_helper


def main():
    x = shown_helper(1)
    hidden_helper(dlsp_helper(glob_helper(linked_helper(folder_helper(aliased_helper(huge_helper(x)))))))
    binary_helper(key_helper(env_helper(x)))
    
"""
HELPER = "def {name}(a):\n    return '" + SECRET + "'\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    root, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (root / ".git", root / "tests", root / ".ssh", outside):
        folder.mkdir(parents=True)

    def write(path: Path, text: str) -> None:
        path.write_text(text)

    write(root / "app.py", APP)
    write(root / "allowed.py", "def shown_helper(a):\n    return 'nothing to hide'\n")
    write(root / ".gitignore", "hidden.py\ntests/test_app.py\n")
    write(root / ".dlspignore", "dlsp_hidden.py\n")
    for name in ("hidden", "dlsp_hidden", "glob_hidden"):
        write(root / f"{name}.py", HELPER.format(name=name.replace("hidden", "helper").replace("hidden_", "")))
    write(root / "hidden.py", HELPER.format(name="hidden_helper"))
    write(root / "tests" / "test_app.py", HELPER.format(name="test_main"))
    write(root / ".env", f"KEY={SECRET}\n")
    write(root / "secrets.yml", f"key: {SECRET}\n")
    write(root / "id_rsa.py", HELPER.format(name="key_helper"))
    write(root / ".ssh" / "module.py", HELPER.format(name="ssh_helper"))
    write(outside / "linked.py", HELPER.format(name="linked_helper"))
    write(outside / "module.py", HELPER.format(name="folder_helper"))
    write(outside / "edited.py", HELPER.format(name="edited_helper"))
    os.symlink(outside / "linked.py", root / "linked.py")
    os.symlink(outside, root / "linked_folder")
    write(root / ".env.py", HELPER.format(name="aliased_helper"))
    os.symlink(root / ".env.py", root / "aliased.py")
    write(root / "settings.env", HELPER.format(name="env_helper"))
    os.symlink(root / "settings.env", root / "settings_env.py")
    write(root / "huge.py", HELPER.format(name="huge_helper") + "#" * MAX_FILE_BYTES)
    write(root / "binary.py", HELPER.format(name="binary_helper") + "\0")
    return root


@pytest_asyncio.fixture
async def stub(project: Path) -> AsyncIterator[StubEngine]:
    with StubEngine(project.parent / "state") as stub:
        yield stub


async def fill(editor: Editor, uri: str) -> Any:
    position = {"line": 4, "character": 4} if "shown" in uri else {"line": 1, "character": 4}
    params = {"textDocument": {"uri": uri}, "position": position}
    return await asyncio.wait_for(editor.client.protocol.send_request_async("dlsp/fill", params), 30)


async def test_no_secret_is_sent(project: Path, stub: StubEngine) -> None:
    uri = (project / "app.py").as_uri()
    row = APP.count("\n") - 1
    async with Editor(project, options={"ignore": ["glob_*.py"]}) as editor:
        editor.open(uri, APP)
        await editor.ready(uri)
        # Documents that are open and edited are sources too.
        closed = [
            "hidden.py",
            "dlsp_hidden.py",
            ".env",
            "id_rsa.py",
            "secrets.yml",
            "linked.py",
            "aliased.py",
            "huge.py",
        ]
        quiet = [(project / name).as_uri() for name in closed] + [(project / "tests" / "test_app.py").as_uri()]
        for each in [*quiet, (project.parent / "outside" / "edited.py").as_uri()]:
            editor.open(each, f"token = '{SECRET}'\n")
            editor.type(each, 0, 0, "x\n")
        async with asyncio.timeout(60):
            while not stub.requests or "shown_helper" not in json.dumps(stub.requests[-1].get("files", [])):
                editor.type(uri, row, 4, "y = z\n    ")  # a new anchor, once the index is there
                row += 1
                await editor.suggestion(uri, row, 4)
                await asyncio.sleep(0.05)
        for line in range(row):
            await editor.suggestion(uri, line, 0)
        sent = len(stub.requests)
        assert sent > 20
        # `huge.py` may be edited by itself; it is no source for others.
        for each in quiet[:-2] + quiet[-1:]:
            assert await editor.suggestion(each, 0, 1) is None
            assert editor.skip == "ignored"
        body = f"def f():\n    pass\n\n\ntoken = '{SECRET}'\n"
        for each in quiet[:2]:
            editor.open(each, body)
            with pytest.raises(JsonRpcException, match="never shown to the model"):
                await fill(editor, each)
        assert {request["gaps"][0]["path"] for request in stub.requests[sent:]} <= {"app.py"}, "asked ahead, at most"
        sent = len(stub.requests)
        shown = (project / "shown.py").as_uri()
        editor.open(shown, "from hidden import hidden_helper\n\n\ndef f():\n    pass\n")
        await fill(editor, shown)
        assert len(stub.requests) == sent + 1
    everything = json.dumps(stub.requests)
    assert "nothing to hide" in everything
    assert SECRET not in everything
