"""An edit carried on by the real language server, engine and model."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcException

from dlsp.edits.history.edit import Edit
from dlsp.edits.rewrite.formats import FORMATS
from dlsp.edits.rewrite.windows import request, windows
from dlsp.edits.rewrite.written import written
from dlsp.edits.search.page import Page
from dlsp.engine import launch, state
from dlsp.models.catalogue import DEFAULT
from dlsp.syntax import languages
from tests.dlsp.editor import Editor
from tests.dlsp.place import Place

pytestmark = [pytest.mark.model, pytest.mark.asyncio]

FEES = """def late_fee(days):
    \"\"\"The late_fee of so many days.\"\"\"
    return days * 2


def total(days):
    box = {"late_fee": late_fee(days)}
    return box["late_fee"] + late_fee(1)
"""
START_S = 300


@pytest_asyncio.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """A document of an editor; the engine that its server starts is ended after the test."""
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "fees.py").write_text(FEES)
    try:
        async with Editor(tmp_path / "project") as editor:
            place = Place(editor, tmp_path / "project" / "fees.py")
            await editor.ready(place.uri, START_S)
            yield place
    finally:
        await (await launch.ensure(DEFAULT)).close()
        await launch.stop(DEFAULT)
        assert not state.alive(DEFAULT.name)


async def test_windows_are_written_by_the_engine_and_only_their_lines_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the model makes of them: it was not trained to write edits yet."""
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "state"))
    text = "import os\n\n\n" + FEES + "".join(f"a{n} = total({n})\n" for n in range(40))
    after = text.replace("def total(days):", "def total(days, rate):")
    edit = Edit.between("fees.py", text, after)
    own = Page("u", "fees.py", after, languages.of("fees.py"), tuple(edit.ranges()))
    looked_at = [(each.start + each.keep, each.end) for each in windows(edit, own)]
    try:
        async with await launch.ensure(DEFAULT) as engine:
            found = [site async for site, _ in written(engine, edit, own, START_S)]
            assert (await engine.health())["step"]["writes_edits"] is False
            assert await engine.edit_format() == "", "none ships"
            body = request(edit, windows(edit, own))
            events = [event async for event in engine.rewrite(body | {"force": -100})]
    finally:
        await launch.stop(DEFAULT)
    assert {event["window"] for event in events} == set(range(len(looked_at)))
    assert any(event["changes"] for event in events), "a change is forced in each"
    for site in found:
        assert any(first <= site.start and site.start + len(site.old) <= last for first, last in looked_at)
        assert not own.is_edited(site.start, site.start + len(site.old))
        assert not own.breaks([site])


async def test_a_model_described_as_sweep_s_writes_windows_in_that_format(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No weights of Sweep's are here: the model that ships was never taught this format, so anything may come, but
    nothing outside the windows changes, and nothing gets lost.
    """
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path / "state"))
    form = "sweep"
    model = replace(DEFAULT, name="swept", path=gguf, edit_format=form)
    text = "import os\n\n\n" + FEES + "".join(f"a{n} = total({n})\n" for n in range(40))
    after = text.replace("def total(days):", "def total(days, rate):")
    edit = Edit.between("fees.py", text, after)
    own = Page("u", "fees.py", after, languages.of("fees.py"), tuple(edit.ranges()))
    asked = windows(edit, own, FORMATS[form])
    try:
        async with await launch.ensure(model) as engine:
            assert await engine.edit_format() == form
            events = [event async for event in engine.rewrite(request(edit, asked, FORMATS[form]))]
            found = [site async for site, _ in written(engine, edit, own, START_S, FORMATS[form])]
    finally:
        await launch.stop(model)
    assert {event["window"] for event in events} == set(range(len(asked)))
    assert {event["reason"] for event in events} <= {"end", "length"}, "the model says where its answer ends"
    for event in events:
        kept = len("".join(asked[event["window"]].lines[: asked[event["window"]].keep]))
        assert all(change["start"] >= kept for change in event["changes"])
    looked_at = [(each.start + each.keep, each.end) for each in asked]
    for site in found:
        assert any(first <= site.start and site.start + len(site.old) <= last for first, last in looked_at)
        assert not own.is_edited(site.start, site.start + len(site.old))
        assert not own.breaks([site])


async def asked(place: Place, method: str, **more: Any) -> Any:
    params = {"textDocument": {"uri": place.uri}, **more}
    return await asyncio.wait_for(place.editor.client.protocol.send_request_async(method, params), 120)


async def test_a_rename_and_a_rewrite(place: Place) -> None:
    place.replace("def late_fee", "def overdue_fee")
    answer = await asked(place, "dlsp/edits")
    sites = list(answer.sites)
    assert {place.held(site.range) for site in sites} == {"late_fee"}
    calls = [site for site in sites if place.text[place.offset(site.range.end) :].startswith("(")]
    assert len(calls) == 2, "the calls must follow, whatever the model thinks of the rest"
    for site in sorted(sites, key=lambda each: -place.offset(each.range.start)):
        place.change(site.range.start, site.range.end, site.newText)
    assert "overdue_fee(days)" in place.text
    assert "overdue_fee(1)" in place.text
    assert not (await asked(place, "dlsp/edits")).sites

    rows = {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}}
    before = place.text
    wish = asked(place, "dlsp/rewrite", range=rows, instruction="Multiply by 3 instead of 2")
    (made,) = await asyncio.gather(wish, return_exceptions=True)
    if isinstance(made, BaseException):
        assert isinstance(made, JsonRpcException)
        assert "leave these lines" in str(made)
        return
    place.change(made.range.start, made.range.end, made.newText)
    kept = before.split("\n")
    assert place.text.startswith("\n".join(kept[:2]))
    assert place.text.endswith("\n".join(kept[3:]))
