"""`dlsp/edits`, Copilot's dialect, the code action and the command, as an editor sees them: a real server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.dlsp.editor import Editor
from tests.dlsp.place import Place
from tests.dlsp.stub_engine import StubEngine

TEXT = """# 🙂 fees
def late_fee(days):
    return days * 2


def total(days):
    base = late_fee(days)  # 🙂
    return base + late_fee(1)
"""
OTHER = "from fees import late_fee\n\nprint(late_fee(3))\n"


@pytest.fixture
def folder(tmp_path: Path, state_folder: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "fees.py").write_text(TEXT)
    (tmp_path / "project" / "other.py").write_text(OTHER)
    (tmp_path / "project" / "hidden.py").write_text(OTHER)
    (tmp_path / "project" / ".dlspignore").write_text("hidden.py\n")
    return tmp_path / "project"


@pytest_asyncio.fixture
async def editor(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Editor]:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))  # no model there
    monkeypatch.setenv("DLSP_MODEL_FILE", str(tmp_path / "none.gguf"))
    async with Editor(folder, annotations=True) as editor:
        yield editor


async def ask(place: Place, **more: Any) -> Any:
    params = {"textDocument": {"uri": place.uri}, **more}
    return await asyncio.wait_for(place.editor.client.protocol.send_request_async("dlsp/edits", params), 30)


async def test_a_rename_is_carried_on(editor: Editor, folder: Path) -> None:
    place = Place(editor, folder / "fees.py")
    assert (await ask(place)).edit is None
    place.replace("def late_fee", "def overdue_fee")
    answer = await ask(place, partialResultToken="more")
    assert (answer.edit.oldText, answer.edit.newText) == ("late_fee", "overdue_fee")
    assert place.held(answer.edit.range) == "overdue_fee"
    own = [site for site in answer.sites if site.textDocument.uri == place.uri]
    assert [(site.oldText, site.newText, site.range.start.line) for site in own] == [
        ("late_fee", "overdue_fee", 6),
        ("late_fee", "overdue_fee", 7),
    ]
    assert all(place.held(site.range) == site.oldText and site.textDocument.version == 2 for site in own)
    elsewhere = {site.textDocument.uri: site.textDocument.version for site in answer.sites if site not in own}
    assert elsewhere == {(folder / "other.py").as_uri(): None}
    assert len([value for value in editor.progress if "sites" in str(value)]) == len(answer.sites)


@pytest.mark.parametrize("name", ["C#", "what?", "50%25", "a b", "né"])
async def test_whatever_the_folder_is_called(tmp_path: Path, stub: StubEngine, name: str) -> None:
    """Sites bear the URIs that the editor wrote, and are found where these lead."""
    folder = tmp_path / name
    folder.mkdir()
    for file, text in (("fees.py", TEXT), ("other.py", OTHER), ("third.py", OTHER)):
        (folder / file).write_text(text)
    async with Editor(folder) as editor:
        place, other = (Place(editor, folder / file) for file in ("fees.py", "other.py"))
        await editor.ready(place.uri)
        place.replace("def late_fee", "def overdue_fee")
        answer = await ask(place)
        assert answer.edit.uri == place.uri
        found = [(site.textDocument.uri, site.textDocument.version) for site in answer.sites]
        third = (folder / "third.py").as_uri()
        assert found == [(place.uri, 2)] * 2 + [(other.uri, 1)] * 2 + [(third, None)] * 2
        asked = [site["path"] for each in stub.requests for site in each.get("sites", [])]
        assert set(asked) <= {"fees.py", "other.py", "third.py"}
        first, second, *_ = answer.sites
        place.change(first.range.start, first.range.end, first.newText)
        assert [site.id for site in (await ask(place)).sites if site.textDocument.uri == place.uri] == [second.id]
        closing = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(place.uri))
        editor.client.text_document_did_close(closing)
        assert (await ask(other)).edit is None, "a closed document has no history"


@pytest.mark.parametrize(
    ("link", "to", "opened", "others"),
    [("alias", "shop", "alias/fees.py", {"other.py"}), ("shop/link.py", "fees.py", "shop/link.py", set())],
)
async def test_a_file_that_is_open_through_a_link_is_no_other_file(
    editor: Editor, folder: Path, link: str, to: str, opened: str, others: set[str]
) -> None:
    """`other.py` imports from `fees`, which a file that is open as `link.py` is not."""
    (folder / "shop").mkdir()
    (folder / "fees.py").rename(folder / "shop" / "fees.py")
    (folder / link).symlink_to(to)
    place = Place(editor, folder / opened)
    place.replace("def late_fee", "def overdue_fee")
    found = {site.textDocument.uri for site in (await ask(place)).sites}
    assert found == {place.uri, *((folder / name).as_uri() for name in others)}


async def test_places_move_and_go_as_they_are_applied_and_dismissed(editor: Editor, folder: Path) -> None:
    place = Place(editor, folder / "fees.py")
    place.replace("def late_fee", "def overdue_fee")
    first, second, *_ = (await ask(place)).sites
    place.change(first.range.start, first.range.end, first.newText)
    answer = await ask(place)
    assert answer.edit.newText == "overdue_fee", "what was carried on is no edit of the user's"
    (left,) = [site for site in answer.sites if site.textDocument.uri == place.uri]
    assert left.id == second.id
    assert left.textDocument.version == 3
    assert place.held(left.range) == "late_fee"
    editor.client.protocol.notify("dlsp/didDismissEdits", {"ids": [left.id]})
    assert left.id not in [site.id for site in (await ask(place)).sites]


async def test_undoing_the_edit_removes_its_places(editor: Editor, folder: Path) -> None:
    place = Place(editor, folder / "fees.py")
    place.replace("def late_fee", "def overdue_fee")
    assert (await ask(place)).sites
    place.replace("def overdue_fee", "def late_fee")
    answer = await ask(place)
    assert (answer.edit, len(answer.sites), bool(answer.quiet)) == (None, 0, True)


async def test_copilots_dialect(editor: Editor, folder: Path) -> None:
    place = Place(editor, folder / "fees.py")
    place.replace("def late_fee", "def overdue_fee")

    async def next_edits(version: int) -> Any:
        params = {
            "textDocument": {"uri": place.uri, "version": version},
            "position": {"line": 1, "character": 4},
            "context": {"triggerKind": 2},
        }
        sent = editor.client.protocol.send_request_async("textDocument/copilotInlineEdit", params)
        return (await asyncio.wait_for(sent, 30)).edits

    assert not await next_edits(1)
    edits = await next_edits(2)
    assert [(edit.text, edit.textDocument.uri, edit.textDocument.version) for edit in edits] == [
        ("overdue_fee", place.uri, 2)
    ] * 2
    editor.client.protocol.notify("textDocument/didShowInlineEdit", {"item": {"command": edits[0].command._asdict()}})
    editor.client.protocol.notify("textDocument/didFocus", {"textDocument": {"uri": place.uri}})
    command = edits[0].command
    accepted = types.ExecuteCommandParams(command.command, list(command.arguments))
    await asyncio.wait_for(editor.client.workspace_execute_command_async(accepted), 30)


async def test_the_code_action_carries_on_everywhere(editor: Editor, folder: Path) -> None:
    place = Place(editor, folder / "fees.py")
    place.replace("def late_fee", "def overdue_fee")
    here = types.Range(types.Position(0, 0), types.Position(0, 0))

    async def actions(kind: types.CodeActionTriggerKind) -> Any:
        context = types.CodeActionContext([], trigger_kind=kind)
        params = types.CodeActionParams(types.TextDocumentIdentifier(place.uri), here, context)
        return await asyncio.wait_for(editor.client.text_document_code_action_async(params), 30)

    assert not await actions(types.CodeActionTriggerKind.Automatic), "looked for places without being asked"
    (action,) = await actions(types.CodeActionTriggerKind.Invoked)
    assert action.title == "Carry this edit on (4 places)"
    assert list(await actions(types.CodeActionTriggerKind.Automatic)) == [action]
    documents = {change.text_document.uri: change for change in action.edit.document_changes}
    assert documents[place.uri].text_document.version == 2
    assert documents[(folder / "other.py").as_uri()].text_document.version is None
    notes = action.edit.change_annotations
    assert {note.label for note in notes.values()} == {
        "Carry this edit on in fees.py",
        "Carry this edit on in other.py",
    }
    assert all(each.annotation_id in notes for change in documents.values() for each in change.edits)


async def test_the_command_applies_the_edit(editor: Editor, folder: Path) -> None:
    applied: list[types.ApplyWorkspaceEditParams] = []

    @editor.client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        applied.append(params)
        return types.ApplyWorkspaceEditResult(True)

    place = Place(editor, folder / "fees.py")
    run = types.ExecuteCommandParams("dlsp.carryEdit", [place.uri])
    with pytest.raises(JsonRpcException, match="No place follows this edit for certain"):
        await asyncio.wait_for(editor.client.workspace_execute_command_async(run), 30)
    place.replace("def late_fee", "def overdue_fee")
    await asyncio.wait_for(editor.client.workspace_execute_command_async(run), 30)
    (asked,) = applied
    assert len(asked.edit.document_changes or ()) == 2


async def test_edits_follow_a_document_into_another_folder(folder: Path, stub: StubEngine) -> None:
    async with Editor() as editor:
        place = Place(editor, folder / "fees.py")
        await editor.ready(place.uri)
        place.replace("def late_fee", "def early_fee")
        joins = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder(folder.as_uri(), "project")], [])
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(joins))
        assert (await ask(place)).edit is None
        place.replace("def early_fee", "def overdue_fee")
        assert (await ask(place)).edit.newText == "overdue_fee"


async def test_a_model_that_others_taught_is_asked_with_the_edits_before(folder: Path, stub: StubEngine) -> None:
    stub.step = {"writes_edits": True, "edit_format": "sweep"}
    async with Editor(folder) as editor:
        place = Place(editor, folder / "fees.py")
        await editor.ready(place.uri)
        place.replace("return base", "return 2 * base")
        place.replace("def late_fee", "def overdue_fee")
        answer = await ask(place)
        (asked,) = [each for each in stub.requests if "windows" in each]
        assert [edit["path"] for edit in asked["edits"]] == ["fees.py"] * 2
        assert "+    return 2 * base" in asked["edits"][0]["text"]
        assert asked["edits"][1]["text"].startswith("--- a/fees.py\n+++ b/fees.py\n@@ -1,5 +1,5 @@\n")
        assert asked["files"][0]["text"].startswith("# 🙂 fees\ndef late_fee")
        assert answer.edit.newText == "overdue_fee"


async def test_a_document_that_is_not_open(editor: Editor) -> None:
    params = {"textDocument": {"uri": "file:///nowhere.py"}}
    with pytest.raises(JsonRpcException, match="not open"):
        await asyncio.wait_for(editor.client.protocol.send_request_async("dlsp/edits", params), 30)


async def test_an_excluded_document_has_no_history_and_is_no_place(editor: Editor, folder: Path) -> None:
    hidden = Place(editor, folder / "hidden.py")
    hidden.replace("late_fee", "overdue_fee")
    hidden.replace("import overdue_fee", "import x_fee")
    assert (await ask(hidden)).edit is None
    place = Place(editor, folder / "fees.py")
    place.replace("def late_fee", "def overdue_fee")
    answer = await ask(place)
    assert answer.sites
    assert hidden.uri not in [site.textDocument.uri for site in answer.sites]


async def test_what_other_servers_report_in_the_users_line_is_fixed(folder: Path, stub: StubEngine) -> None:
    """In files that may be read, and as soon as it is reported."""
    (folder / "hidden.py").write_text("import pickle\nimport json\n")
    told: dict[str, Any] = {}
    async with Editor(folder, servers=lambda _: told) as editor:
        place = Place(editor, folder / "fees.py")
        await editor.ready(place.uri)
        place.replace("    return base + late_fee(1)", line := "    return json.loads(late_fe(pickle))")
        assert (await ask(place)).sites == []
        told["diagnostics"] = unknown(line)
        (site,) = (await ask(place)).sites
        assert (site.oldText, site.newText, site.range.start.line, site.certain) == ("late_fe", "late_fee", 7, False)
        (folder / "other.py").write_text(f"import json\n\n{OTHER}")
        place.replace("json.loads", "json.load")
        told["diagnostics"] = unknown(line.replace("loads", "load"))
        imported, mended = (await ask(place)).sites
        assert (imported.oldText, imported.newText, imported.range.start.line) == ("", "import json\n\n\n", 1)
        assert mended.newText == "late_fee"


async def test_the_fix_that_a_server_prefers_is_offered(folder: Path, stub: StubEngine) -> None:
    line = "    print('🙂', lost(1))"
    begin, end = ({"line": 6, "character": line.index(text) + 1} for text in ("lost", "(1)"))  # in UTF-16
    edits = [{"range": {"start": begin, "end": end}, "newText": "late_fee"}]
    told = {"diagnostics": [{"line": 6, "character": begin["character"], "message": "?", "edits": edits}]}
    async with Editor(folder, servers=lambda _: told) as editor:
        place = Place(editor, folder / "fees.py")
        await editor.ready(place.uri)
        place.replace("    base =", f"{line}\n    base =")
        (site,) = (await ask(place)).sites
        assert (place.held(site.range), site.newText) == ("lost", "late_fee")
        rows = {"start": {"line": 6, "character": 0}, "end": {"line": 7, "character": 0}}
        assert editor.questions[0] == {"textDocument": {"uri": place.uri}, "diagnostics": True, "fixes": rows}


def unknown(line: str) -> list[dict[str, Any]]:
    """What a server reports of the names in line 7."""
    names = ("json", "late_fe", "pickle")
    return [{"line": 7, "character": line.index(name), "message": f'"{name}" is not defined'} for name in names]


@pytest.mark.parametrize("answer", [None, {"diagnostics": [{"line": 10**6, "character": 0, "message": "?"}]}, [1]])
async def test_strange_reports_harm_nothing(folder: Path, stub: StubEngine, answer: Any) -> None:
    async with Editor(folder, servers=lambda _: answer) as editor:
        place = Place(editor, folder / "fees.py")
        await editor.ready(place.uri)
        place.replace("def late_fee", "def overdue_fee")
        assert len((await ask(place)).sites) == 4


async def test_an_editor_that_does_not_answer_is_not_waited_for_long(folder: Path, stub: StubEngine) -> None:
    over = asyncio.Event()

    async def servers(_: dict[str, Any]) -> None:
        await over.wait()

    async with Editor(folder, servers=servers) as editor:
        place = Place(editor, folder / "fees.py")
        await editor.ready(place.uri)
        place.replace("def late_fee", "def overdue_fee")
        assert len((await ask(place)).sites) == 4
        over.set()
        await asyncio.sleep(0.1)  # the answer goes before the server ends
