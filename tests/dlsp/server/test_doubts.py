"""Next edits ask the editor's other language servers about a rename: a real server process, and answers made here."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.dlsp.editor import Editor
from tests.dlsp.place import Place

CART = """# 🙂
class Cart:
    def __init__(self):
        self.total = 0

    def add(self, fee):
        '🙂'; self.total = self.total + fee


def begun():
    return Cart()
"""
SHOWN = "from cart import begun\n\n'🙂'; print(begun().total)\n"
OTHER = "print(begin().total)\n"
KEPT = {"line": 6, "character": 19}
Answer = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))  # no model there
    monkeypatch.setenv("DLSP_MODEL_FILE", str(tmp_path / "none.gguf"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "cart.py").write_text(CART)
    for name in ("shown.py", "hidden.py"):
        (folder / name).write_text(SHOWN)
    (folder / ".dlspignore").write_text("hidden.py\n")
    return folder


@asynccontextmanager
async def renamed(folder: Path, servers: Callable[[Answer], Any] | None) -> AsyncIterator[tuple[Editor, Place]]:
    """An attribute has another name where it is first set."""
    async with Editor(folder, servers=of_names(servers)) as editor:
        place = Place(editor, folder / "cart.py")
        await ask(place)
        place.replace("self.total = 0", "self.sum = 0")
        yield editor, place


def of_names(servers: Callable[[Answer], Any] | None) -> Callable[[Answer], Any] | None:
    """They answer questions about names, and know of no errors."""
    return servers and (lambda question: servers(question) if "references" in question else {})


def questions(editor: Editor) -> list[Answer]:
    """What was asked about names."""
    return [each for each in editor.questions if "references" in each]


async def ask(place: Place) -> Any:
    params = {"textDocument": {"uri": place.uri}}
    return await asyncio.wait_for(place.editor.client.protocol.send_request_async("dlsp/edits", params), 30)


def at(path: Path, line: int, character: int) -> Answer:
    return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": character}}


def sites(answer: Any) -> set[tuple[str, int, bool]]:
    return {(Path(site.textDocument.uri).name, site.range.start.line, site.certain) for site in answer.sites}


def all_of(folder: Path) -> list[Answer]:
    """What a language server would rename, hidden files too."""
    own = [at(folder / "cart.py", 6, column) for column in (KEPT["character"], 32)]
    return [*own, *(at(folder / name, 2, 20) for name in ("shown.py", "hidden.py"))]


async def test_what_another_server_would_rename_is_certain(folder: Path) -> None:
    def servers(question: Answer) -> Answer:
        return {"rename": all_of(folder), "references": [[] for _ in question["references"]]}

    async with renamed(folder, servers) as (editor, place):
        assert sites(await ask(place)) == {("cart.py", 6, True), ("shown.py", 2, True)}
        (question,) = questions(editor)
        assert question["textDocument"] == {"uri": place.uri}
        document = {"uri": place.uri, "version": place.editor.versions[place.uri]}
        assert question["rename"] == {"textDocument": document, "position": KEPT, "newName": "sum"}
        await ask(place)
        assert len(questions(editor)) == 1, "the answer is remembered"


async def test_a_file_that_the_search_does_not_find_joins(folder: Path) -> None:
    """A name that is too short to be searched in other files."""
    (folder / "cart.py").write_text(CART.replace("total", "sum"))
    (folder / "shown.py").write_text(SHOWN.replace("total", "sum"))

    def servers(question: Answer) -> Answer:
        assert question["rename"]["position"] == KEPT
        return {"rename": [at(folder / "cart.py", 6, 19), at(folder / "shown.py", 2, 20)]}

    async with Editor(folder, servers=of_names(servers)) as editor:
        place = Place(editor, folder / "cart.py")
        await ask(place)
        place.replace("self.sum = 0", "self.amount = 0")
        assert ("shown.py", 2, True) in sites(await ask(place))


async def test_a_place_where_the_name_does_not_stand_is_none(folder: Path) -> None:
    def servers(question: Answer) -> Answer:
        wrong = [at(folder / "shown.py", line, column) for line, column in ((2, 19), (2, 99), (99, 0), (0, 0))]
        return {"rename": [at(folder / "cart.py", 6, KEPT["character"]), *wrong]}

    async with renamed(folder, servers) as (_, place):
        found = sites(await ask(place))
        assert ("cart.py", 6, True) in found
        assert ("shown.py", 2, True) not in found


async def test_without_an_answer_in_time_it_is_as_without_other_servers(folder: Path) -> None:
    held = asyncio.Event()

    async def servers(question: Answer) -> Answer:
        await held.wait()
        return {"rename": all_of(folder)}

    async with renamed(folder, None) as (_, place):
        alone = sites(await ask(place))
    async with renamed(folder, servers) as (editor, place):
        begun = time.monotonic()
        assert sites(await ask(place)) == alone
        assert time.monotonic() - begun > 1
        assert len(questions(editor)) == 1
        held.set()
    for answer in (None, [], {"rename": "all"}, {"rename": [{"uri": 7}]}, {"references": [[], [], [], [], []]}):
        async with renamed(folder, lambda _, answer=answer: answer) as (_, place):
            assert sites(await ask(place)) == alone


async def test_an_answer_about_another_text_is_dropped(folder: Path) -> None:
    (folder / "other.py").write_text(OTHER)

    async def servers(question: Answer) -> Answer:
        other.replace("print", "# more\nprint")
        return {"rename": all_of(folder)}

    async with renamed(folder, servers) as (editor, place):
        other = Place(editor, folder / "other.py")
        assert sites(await ask(place)) == set()
        assert len(questions(editor)) == 1
