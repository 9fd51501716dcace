"""The extension asks for nothing that a published one may not have. code-server would let it: it allows everything."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from dlsp import __version__
from dlsp.settings.schema import FIELDS
from tests.e2e.vscode.provide import EXTENSION

MANIFEST = json.loads((EXTENSION / "package.json").read_text())
SOURCES = {path.name: path.read_text() for path in (EXTENSION / "src").glob("*.ts")}
SETTINGS = MANIFEST["contributes"]["configuration"]["properties"]


def test_no_proposed_interface() -> None:
    assert "enabledApiProposals" not in MANIFEST
    assert MANIFEST["engines"]["vscode"] == "^1.91.0"
    # The sources are compiled against the stable interface of the oldest VS Code, and nothing gets around its types.
    assert MANIFEST["devDependencies"]["@types/vscode"] == "1.91.0"
    assert not list((EXTENSION / "src").glob("**/*.d.ts"))
    around = re.compile(r"@ts-(ignore|expect-error|nocheck)|\bas (any|unknown|never)\b|: any\b|\bdeclare module\b")
    assert [name for name, text in SOURCES.items() if around.search(text)] == []


def test_every_command_is_there() -> None:
    said = {each["command"] for each in MANIFEST["contributes"]["commands"]}
    assert said == set(re.findall(r'"(dlsp\.\w+)": \(', SOURCES["extension.ts"]))
    assert {each["command"] for each in MANIFEST["contributes"]["keybindings"]} <= said


def test_escape_leaves_insert_mode_where_the_editor_has_one() -> None:
    """Of what comes by itself; a function is filled in when it is asked for."""
    escapes = {
        each["command"]: each["when"] for each in MANIFEST["contributes"]["keybindings"] if each["key"] == "escape"
    }
    assert "!vim.active && !neovim.init" in escapes["dlsp.dismiss"]
    assert "vim.mode != 'Insert' && neovim.mode != 'insert'" in escapes["dlsp.dismissEdits"]


def test_settings_are_described_and_hide_nothing() -> None:
    assert all(each.get("description") or each.get("markdownDescription") for each in SETTINGS.values())
    for name in FIELDS:
        # A default that is not null would hide the project's own setting.
        assert SETTINGS[f"dlsp.{name}"]["default"] is None
    assert [each["order"] for each in SETTINGS.values()] == list(range(1, len(SETTINGS) + 1))
    used = set(re.findall(r'get<[^(]*>\("(\w+)"', "".join(SOURCES.values())))
    assert used | FIELDS.keys() == {name.removeprefix("dlsp.") for name in SETTINGS}
    for each in SETTINGS.values():
        assert len(each.get("enum", [])) == len(each.get("enumDescriptions", []))


def test_it_runs_where_the_files_are_and_has_the_servers_version() -> None:
    assert MANIFEST["extensionKind"] == ["workspace"]
    assert MANIFEST["version"] == __version__


def test_the_package_holds_what_it_needs_and_no_more(programs: tuple[object, Path]) -> None:
    with zipfile.ZipFile(programs[1]) as package:
        names = {name for name in package.namelist() if name.startswith("extension/")}
        code = package.read("extension/dist/extension.js").decode()
    wanted = {"package.json", "readme.md", "changelog.md", "LICENSE.txt", "dist/extension.js", "icon.png"}
    wanted |= {f"walkthrough/{step['id']}.md" for step in MANIFEST["contributes"]["walkthroughs"][0]["steps"]}
    assert names == {f"extension/{name}" for name in wanted}
    for proposed in ("isInlineEdit", "showRange", "handleDidShowCompletionItem", "handleDidPartiallyAccept"):
        assert proposed not in code


@pytest.mark.parametrize("file", ["package-lock.json", "package.json", "README.md"])
def test_no_registry_is_named(file: str) -> None:
    assert '"resolved"' not in (EXTENSION / file).read_text()
