"""The constraint that steers suggestions."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import attrs
import pytest

from dlsp.completions.anchor import Anchor
from dlsp.completions.generation import Generator
from dlsp.completions.state import DocumentState
from dlsp.completions.steering import MAX_NAMES, constraint
from dlsp.context.parts import Context, Part
from dlsp.context.workspace import Workspace
from dlsp.settings.schema import Settings
from dlsp.syntax import languages
from tests.dlsp.completions.cursors import cursor

CONTEXT = Context(
    (Part("shop/cart.py", 0, "class Cart:\n    def add_item(self): ...\n", "import"),),
    (Part("a.py", 0, "from shop.cart import Cart\ncart = Cart()\ncart.", "before"),),
    Part("a.py", 3, "\nprix_élevé = 3\n", "behind"),
)


@pytest.mark.parametrize(
    ("steer", "fields"),
    [("off", set()), ("brackets", {"balanced"}), ("names", {"identifiers"}), ("both", {"balanced", "identifiers"})],
)
def test_what_the_setting_asks_for(steer: str, fields: set[str]) -> None:
    assert constraint(steer, CONTEXT, "a.py").keys() == fields


def test_names_are_those_that_the_model_sees() -> None:
    names = constraint("names", CONTEXT, "a.ts")["identifiers"]
    assert {"Cart", "add_item", "cart", "prix_élevé"} <= set(names)
    assert "append" not in names
    assert {"append", "len", "add_item"} <= set(constraint("names", CONTEXT, "a.py")["identifiers"])


def test_names_that_the_workspace_defines_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "shop.py").write_text("class Till:\n    def count_coins(self):\n        return 1\n")
    (folder / "hidden.py").write_text("def hidden_one():\n    return 1\n")
    (folder / "shop.js").write_text("function onlyInScripts() { return 1; }\n")
    python = languages.of("a.py")
    for globs, found in (((), {"Till", "count_coins", "hidden_one"}), (("hidden.py",), {"Till", "count_coins"})):
        workspace = Workspace(folder, globs)
        workspace.bring_up_to_date(60)
        defined = workspace.defined(python, 10)
        workspace.close()
        assert set(defined) == found
    assert workspace.defined(None, 10) == ()
    names = constraint("names", replace(CONTEXT, defined=defined), "a.py")["identifiers"]
    assert {"count_coins", "add_item"} <= set(names)
    assert "defined" not in constraint("brackets", replace(CONTEXT, defined=defined), "a.py")


async def test_names_of_the_whole_file_are_known_not_only_of_what_the_model_sees() -> None:
    async def at_once(function: Callable, *given: object) -> object:
        return function(*given)

    settings = attrs.evolve(Settings(), steer="names")
    before = "import json\n" + "print(1)\n" * 9_000 + "cart."
    at = cursor(before, "\n" + "print(2)\n" * 9_000 + "def far_below(): ...\n", settings=settings)
    state = DocumentState(settings)
    request = await Generator(_Ready(), at_once).request(at, state, "typing")  # type: ignore[arg-type]
    assert isinstance(request, dict)
    assert "far_below" not in str(request | {"constraint": None})
    assert {"far_below", "json", "print", "dumps"} <= set(request["constraint"]["identifiers"])


def test_an_excluded_file_of_an_older_index_defines_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "hidden.py").write_text("def hidden_one():\n    return 1\n")
    before = Workspace(folder)
    before.bring_up_to_date(60)
    before.close()
    after = Workspace(folder, ("hidden.py",))
    assert after.defined(languages.of("a.py"), 10) == ()
    after.close()


def test_names_of_the_standard_library_are_those_of_what_is_imported() -> None:
    import collections  # noqa: F401 - this process has them
    import math  # noqa: F401
    import re  # noqa: F401

    text = "import re, math\nfrom collections import Counter\nimport pytest\n"
    seen = Context((), (Part("a.py", 0, text, "before"),), Part("a.py", 3, "", "behind"))
    names = set(constraint("names", seen, "a.py")["identifiers"])
    assert {"fullmatch", "sqrt", "most_common"} <= names
    assert not {"urlopen", "parametrize"} & names


def test_there_are_not_more_than_the_engine_takes() -> None:
    many = Part("b.py", 0, " ".join(f"name_{number}" for number in range(2 * MAX_NAMES)), "recent")
    assert (
        len(constraint("names", Context((many,), CONTEXT.prefix, CONTEXT.suffix), "a.py")["identifiers"]) == MAX_NAMES
    )


def test_nothing_known_requires_nothing() -> None:
    assert constraint("names", Context((), (), Part("a.ts", 0, "", "behind")), "a.ts") == {}


class _Ready:
    """Engines that are all ready."""

    is_ready = True

    def connection(self, *_: object) -> "_Ready":
        return self


async def _in_thread(*_: object) -> None:
    raise AssertionError("the anchor has the context")


@pytest.mark.parametrize(
    ("steer", "overrides", "steered"),
    [("off", {}, False), ("both", {}, True), ("both", {"temperature": 0.8}, False), ("both", {"temperature": 0}, True)],
)
async def test_requests_are_steered_where_the_setting_says_so(steer: str, overrides: dict, steered: bool) -> None:
    settings = attrs.evolve(Settings(), steer=steer)
    state, at = DocumentState(settings), cursor("cart.", "\n", settings=settings)
    state.set_anchor(Anchor(at.before, at.after, CONTEXT))
    request = await Generator(_Ready(), _in_thread).request(at, state, "typing", overrides=overrides)  # type: ignore[arg-type]
    assert isinstance(request, dict)
    assert ("constraint" in request) == steered
    assert request.get("constraint", {}) == (constraint(steer, CONTEXT, "sum.py") if steered else {})
