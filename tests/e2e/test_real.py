"""An editor, the language server, the engine and the model, all real; nothing but the model is shared."""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.engine import launch, state
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.editor import Editor, applied

pytestmark = [pytest.mark.model, pytest.mark.asyncio]

EXAMPLES = Path(__file__).parents[2] / "examples"
GAP = "    return min(", "cents, HIGHEST_FINE"
TYPED_CHARACTERS = 5
START_S = 300


@pytest_asyncio.fixture(params=["eager"])
async def editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Editor]:
    """An editor on the example project; the engine that its server starts is ended after the test.

    Eager but where the gate is what is tested.
    """
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "state"))
    shutil.copytree(EXAMPLES / "lending", tmp_path / "lending")
    try:
        async with Editor(tmp_path, encoding="utf-8", options={"suggest": request.param}) as editor:
            yield editor
    finally:
        await (await launch.ensure(DEFAULT)).close()  # it may be loading still
        await launch.stop(DEFAULT)
        assert not state.alive(DEFAULT.name)


async def test_from_the_keystroke_to_the_suggestion(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "lending" / "fines.py"
    before, after = file.read_text().split("".join(GAP))
    before += GAP[0]
    file.write_text(before + after)
    uri, line, column = file.as_uri(), before.count("\n"), len(GAP[0])
    editor.open(uri, before + after)
    await editor.ready(uri, START_S)

    first = await editor.suggestion(uri, line, column)
    assert first is not None, editor.log[-3:]
    assert "HIGHEST_FINE" in str(first.insert_text)
    assert applied(first, before + after, "utf-8") == f"{before}{first.insert_text}{behind(first, after)}"
    # The command line may see less of the other files, and so order the two the other way round.
    assert "HIGHEST_FINE" in await from_the_command_line(f"{file}:{line + 1}:{column + 1}")

    # Type on, with a request in flight at each character, as an editor does that does not wait.
    asked_at, typed = [], str(first.insert_text)[:TYPED_CHARACTERS]
    for char in typed:
        asked_at.append((str(first.insert_text)[len(asked_at) :], editor.ask(uri, line, column)))
        editor.type(uri, line, column, char)
        before, column = before + char, column + 1
    for left, each in asked_at:
        assert [item.insert_text for item in (await asyncio.wait_for(each, 30)).items] in ([], [left])
    recalled = await editor.suggestion(uri, line, column)
    assert recalled is not None
    assert recalled.insert_text == str(first.insert_text).removeprefix(typed)
    assert editor.answers[-1]["decision"]["memory"]

    # Cancel what is to be thought about: answered at once.
    editor.type(uri, line, column, "?")
    asked = editor.ask(uri, line, column + 1, id="cancelled")
    await asyncio.sleep(0.01)
    began = time.monotonic()
    editor.cancel("cancelled")
    editor.delete(uri, line, column, column + 1)
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wait_for(asked, 30)
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    assert time.monotonic() - began < 2

    # Ask again: what was suggested is given back, and the rest of the file stays as it was.
    item = await editor.suggestion(uri, line, column)
    assert item is not None, editor.log
    assert "FINE" in typed + str(item.insert_text)
    accepted = applied(item, before + after, "utf-8")
    assert accepted == f"{before}{item.insert_text}{behind(item, after)}"
    compile(accepted, str(file), "exec")
    assert editor.shown == []
    assert [value["kind"] for value in editor.progress][:: len(editor.progress) - 1] == ["begin", "end"]


def behind(item: types.InlineCompletionItem, after: str) -> str:
    """What of the text after the cursor stays: the `)` does not, if the item has it."""
    inserted = str(item.insert_text)
    return after.removeprefix(")") if inserted.count(")") > inserted.count("(") else after


async def from_the_command_line(place: str) -> str:
    """What `dlsp complete` suggests at a place."""
    dlsp = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dlsp", "complete", place, "--json", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(dlsp.communicate(), 120)
    return json.loads(output)["text"]


SURE = """class Point:
    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self."""
DOUBTFUL = "favourite_colour = "


@pytest.mark.parametrize("editor", ["auto"], indirect=True)
async def test_as_it_ships_it_speaks_where_it_is_sure_and_only_there(editor: Editor, tmp_path: Path) -> None:
    async def typed(name: str, text: str) -> str | None:
        """What is suggested where the last character of the text was just typed."""
        uri, lines = (tmp_path / name).as_uri(), text.split("\n")
        line, column = len(lines) - 1, len(lines[-1])
        editor.open(uri, text[:-1] + "\n")
        await editor.ready(uri, START_S)
        editor.type(uri, line, column - 1, text[-1])
        item = await editor.suggestion(uri, line, column)
        return str(item.insert_text) if item else None

    assert await typed("point.py", SURE) == "z = z"
    assert await typed("favourite.py", DOUBTFUL) is None
    assert editor.skip == "unsure"
