import json
import os
from pathlib import Path
from typing import Any

import pytest

from dlsp.context.workspace import Workspace
from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE
from dlsp.models.sizing import CONTEXT_TOKENS, GAP_STEP_ROWS, PROMPT_STEP_ROWS
from dlsp.settings.layers import SettingsLayers
from dlsp.settings.schema import EVERYTHING, Settings, json_schema

SMALL, LARGE = CATALOGUE


class Refreshed(SettingsLayers):
    """Reads what has changed before it says what the settings are, as a request does."""

    def of(self, folder: Path | None) -> Settings:
        self.refresh(folder)
        return super().of(folder)


class Reported:
    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.layers = Refreshed(self.sentences.append)


@pytest.fixture
def user() -> Reported:
    return Reported()


def project(folder: Path, table: str) -> None:
    file = folder / "pyproject.toml"
    file.write_text(f"[project]\nname = 'p'\n\n[tool.dlsp]\n{table}\n")
    at = file.stat().st_mtime_ns
    os.utime(file, ns=(at, at + len(table) * 10**6))  # a coarse clock may not tell two writes apart


def test_the_later_layer_is_the_stronger(user: Reported, tmp_path: Path) -> None:
    it = user.layers
    project(tmp_path, 'mode = "diffusion"\nmodel = "1.5b"')
    assert (it.of(tmp_path).mode, it.of(tmp_path).model.name) == ("diffusion", "qwen2.5-coder-1.5b")
    assert it.of(None).mode == "verified"
    it.set_initial({"mode": "autoregressive"})
    assert (it.of(tmp_path).mode, it.of(tmp_path).model.name) == ("autoregressive", "qwen2.5-coder-1.5b")
    it.set_pushed({"dlsp": {"mode": "verified"}})
    assert it.of(tmp_path).mode == "verified"
    it.set_pulled({None: {"mode": "diffusion"}, tmp_path: {"mode": "autoregressive"}})
    assert (it.of(tmp_path).mode, it.of(None).mode) == ("autoregressive", "diffusion")
    it.set_pulled({None: {"mode": None}})
    assert it.of(tmp_path).mode == "verified", "null is unset"
    assert user.sentences == []


def test_a_changed_project_file_applies_at_once(user: Reported, tmp_path: Path) -> None:
    it = user.layers
    assert it.of(tmp_path).mode == "verified"
    project(tmp_path, 'mode = "diffusion"')
    assert it.of(tmp_path).mode == "diffusion"
    project(tmp_path, 'mode = "autoregressive"')
    assert it.of(tmp_path).mode == "autoregressive"
    (tmp_path / "pyproject.toml").unlink()
    assert it.of(tmp_path).mode == "verified"


def test_what_cannot_be_used_is_reported_once_and_harms_no_other(user: Reported, tmp_path: Path) -> None:
    it = user.layers
    it.set_initial({"mode": 3, "model": "no-such", "log": ["text"], "modle": "1.5b"})
    for _ in range(3):
        assert it.of(None).mode == it.of(tmp_path).mode == "verified"
    assert len(user.sentences) == 4
    assert all(": use " in sentence for sentence in user.sentences)
    assert user.sentences[0].startswith("There is no setting 'modle'")
    it.set_pushed({"dlsp": {"mode": "magic", "model": "1.5b"}})
    assert it.of(None).model.name == "qwen2.5-coder-1.5b"
    assert "There is no mode 'magic'" in user.sentences[-1]


@pytest.mark.parametrize("text", ["[tool.dlsp\n", "tool = 3", "[tool]\ndlsp = 3", "\udcff", "a = " + "[" * 10_000])
def test_a_broken_project_file(user: Reported, tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, errors="surrogateescape")
    assert user.layers.of(tmp_path).mode == "verified"


def test_a_project_cannot_let_text_into_the_log(user: Reported, tmp_path: Path) -> None:
    project(tmp_path, 'log = "text"\nmode = "diffusion"')
    assert (user.layers.of(tmp_path).log, user.layers.of(tmp_path).mode) == ("plain", "diffusion")
    assert "'log' cannot be set in pyproject.toml" in user.sentences[0]


def test_settings_that_are_no_table_are_reported_once(user: Reported, tmp_path: Path) -> None:
    it = user.layers
    it.set_initial("fast")
    for _ in range(2):
        it.set_pushed({"dlsp": 3})
    it.set_pulled({None: [], tmp_path: None})
    (tmp_path / "pyproject.toml").write_text("[tool]\ndlsp = 3\n")
    assert it.of(tmp_path).mode == "verified"
    ends = ["not 'fast'.", "not '3'.", "not '3'."]
    assert [sentence.partition("values, ")[2] for sentence in user.sentences] == ends


def test_names_of_others_are_no_slips(user: Reported) -> None:
    """What VS Code keeps for its extension, and what other servers are told."""
    extension = json.loads((Path(__file__).parents[3] / "editors" / "vscode" / "package.json").read_text())
    names = {name.removeprefix("dlsp.") for name in extension["contributes"]["configuration"]["properties"]}
    assert "model" in names
    user.layers.set_pulled({None: dict.fromkeys(names)})
    user.layers.set_pushed({"dlsp": dict.fromkeys(names)})
    user.layers.set_pushed({"pylsp": {"plugins": {}}})
    assert user.sentences == []


@pytest.mark.parametrize("given", [None, 3, "x", [], {"dlsp": None}, {"dlsp": []}])
def test_odd_settings_are_none(user: Reported, given: object) -> None:
    user.layers.set_initial(given)
    user.layers.set_pushed(given)
    user.layers.set_pulled({None: given})
    assert user.layers.of(None).mode == "verified"


@pytest.mark.parametrize("glob", ["!", "foo\\"])
def test_a_glob_that_is_none_is_reported_and_the_others_stand(user: Reported, tmp_path: Path, glob: str) -> None:
    project(tmp_path, f"ignore = ['private/', '{glob}']")
    user.layers.set_initial({"ignore": [glob, "*.sql"]})
    assert user.layers.of(tmp_path).ignore == ("private/", "*.sql")
    assert user.sentences == [f"`ignore` cannot use '{glob}', which is no pattern of .gitignore."]


@pytest.mark.parametrize("context", [float("inf"), float("-inf"), float("nan"), "many", True])
def test_the_context_is_a_number_that_ends(user: Reported, context: object) -> None:
    usual = user.layers.of(None).context
    user.layers.set_initial({"context": context})
    assert user.layers.of(None).context == usual
    assert user.sentences == ["`context` is a number of tokens: for example 1024."]
    user.layers.set_initial({"context": 2e3})
    assert user.layers.of(None).context == 2000


def test_the_infill_update_is_on_until_it_is_set_to_false(user: Reported) -> None:
    it = user.layers
    it.set_initial({})
    assert it.of(None).infill_update
    it.set_pushed({"dlsp": {"infill_update": "no"}})
    assert it.of(None).infill_update
    assert user.sentences == ["`infill_update` is true, or false for the model as it was published."]
    it.set_pushed({"dlsp": {"infill_update": False}})
    assert not it.of(None).infill_update


def test_threads_are_a_number_that_a_machine_may_have(user: Reported) -> None:
    it = user.layers
    it.set_initial({"threads": 4})
    assert it.of(None).threads == 4
    it.set_pushed({"dlsp": {"threads": "all"}})
    assert it.of(None).threads == 4
    assert user.sentences == ["`threads` is a number from 0, for what suits the machine, to 256."]


@pytest.mark.parametrize("one", ["private/", ["private/"]])
def test_a_glob_alone_is_a_list_of_one(user: Reported, one: object) -> None:
    user.layers.set_initial({"ignore": one})
    assert user.layers.of(None).ignore == ("private/",)
    assert user.sentences == []


@pytest.mark.parametrize("wrong", [3, True, {"private/": True}, ["private/", 3]])
def test_what_was_to_keep_files_out_and_cannot_be_read_keeps_all_out(
    user: Reported, tmp_path: Path, wrong: object
) -> None:
    user.layers.set_initial({"ignore": wrong})
    assert user.layers.of(None).ignore == EVERYTHING
    assert "no file is read" in user.sentences[0]
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    assert Workspace(tmp_path, user.layers.of(None).ignore).excludes(file)


def test_while_the_project_file_is_being_edited_what_it_excluded_stays_so(user: Reported, tmp_path: Path) -> None:
    project(tmp_path, "ignore = ['private/']")
    assert user.layers.of(tmp_path).ignore == ("private/",)
    project(tmp_path, "ignore = ['private/', ")
    assert user.layers.of(tmp_path).ignore == ("private/",)
    assert "cannot be read" in user.sentences[0]
    project(tmp_path, "ignore = []")
    assert user.layers.of(tmp_path).ignore == ()


def test_what_was_mended_is_reported_when_it_is_wrong_again(user: Reported, tmp_path: Path) -> None:
    for mode in ("magic", "verified", "magic"):
        user.layers.set_pushed({"dlsp": {"mode": mode}})
        for folder in (None, tmp_path):
            assert user.layers.of(folder).mode == "verified"
    assert len(user.sentences) == 2


def test_what_auto_means_follows_what_is_measured_and_pulled(
    user: Reported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DLSP_MODEL_FILE", raising=False)
    assert (user.layers.of(None).model, user.layers.of(None).context) == (SMALL, CONTEXT_TOKENS[-1])
    costs = {"rows": [GAP_STEP_ROWS, PROMPT_STEP_ROWS], "milliseconds": [5.0, 6.0], "canvas": 0.1, "canvas_row": 0.1}
    table = {f"{model.stem} int8": {"costs": costs} for model in CATALOGUE}
    for model in CATALOGUE:
        file = store.place(model)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "cache" / "costs.json").write_text(json.dumps(table))
    assert (user.layers.of(None).model, user.layers.of(None).context) == (LARGE, CONTEXT_TOKENS[0])


def test_a_request_reads_each_file_once_however_often_it_asks_for_settings(
    user: Reported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, 'mode = "diffusion"')
    layers = SettingsLayers(user.sentences.append)
    layers.refresh(tmp_path)
    looked: list[str] = []
    stat = os.stat

    def counted(path: Any, *args: Any, **more: Any) -> os.stat_result:
        looked.append(str(path))
        return stat(path, *args, **more)

    monkeypatch.setattr(os, "stat", counted)
    for _ in range(10):
        assert layers.of(tmp_path).mode == "diffusion"
    assert looked == []


def test_the_json_schema_has_every_setting_and_agrees_with_the_extension() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {
        "model",
        "mode",
        "log",
        "suggest",
        "ignore",
        "context",
        "threads",
        "infill_update",
        "steer",
        "server",
        "server_away",
    }
    assert schema["additionalProperties"] is False
    assert all(each["description"].endswith((".", "`.")) for each in schema["properties"].values())
    manifest = json.loads((Path(__file__).parents[3] / "editors" / "vscode" / "package.json").read_text())
    theirs = manifest["contributes"]["configuration"]["properties"]
    assert theirs["dlsp.server"]["scope"] == "machine"  # VS Code then takes it from no workspace
    for name in schema["properties"].keys() - {"infill_update"}:  # not a setting of the extension
        ours, extensions = schema["properties"][name], theirs[f"dlsp.{name}"]
        if name == "model":  # or the name of an added model
            ours, extensions = ours["anyOf"][0], extensions["anyOf"][0]
        if values := ours.get("enum"):
            assert set(extensions["enum"]) - {None} == set(values), name
        for bound in ("minimum", "maximum"):
            assert extensions.get(bound) == ours.get(bound), name


def test_a_project_names_no_server(user: Reported, tmp_path: Path) -> None:
    project(tmp_path, 'server = "https://thief.example.org"')
    assert user.layers.of(tmp_path).server == ""
    assert [each for each in user.sentences if "'server' cannot be set in pyproject.toml" in each]
    user.layers.set_initial({"server": "https://dlsp.example.org/"})
    assert user.layers.of(tmp_path).server == "https://dlsp.example.org"
