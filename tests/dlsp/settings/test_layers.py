import json
import os
from pathlib import Path

import pytest

from dlsp.settings.layers import Configuration


class Told:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.configuration = Configuration(self.told.append)


@pytest.fixture
def user() -> Told:
    return Told()


def project(folder: Path, table: str) -> None:
    file = folder / "pyproject.toml"
    file.write_text(f"[project]\nname = 'p'\n\n[tool.dlsp]\n{table}\n")
    at = file.stat().st_mtime_ns
    os.utime(file, ns=(at, at + len(table) * 10**6))  # a coarse clock may not tell two writes apart


def test_the_later_layer_is_the_stronger(user: Told, tmp_path: Path) -> None:
    it = user.configuration
    project(tmp_path, 'mode = "diffusion"\nmodel = "1.5b"')
    assert (it.of(tmp_path).mode, it.of(tmp_path).model.name) == ("diffusion", "qwen2.5-coder-1.5b")
    assert it.of(None).mode == "verified"
    it.begin({"mode": "autoregressive"})
    assert (it.of(tmp_path).mode, it.of(tmp_path).model.name) == ("autoregressive", "qwen2.5-coder-1.5b")
    it.push({"dlsp": {"mode": "verified"}})
    assert it.of(tmp_path).mode == "verified"
    it.pull({None: {"mode": "diffusion"}, tmp_path: {"mode": "autoregressive"}})
    assert (it.of(tmp_path).mode, it.of(None).mode) == ("autoregressive", "diffusion")
    it.pull({None: {"mode": None}})
    assert it.of(tmp_path).mode == "verified", "null is unset"
    assert user.told == []


def test_a_changed_project_file_applies_at_once(user: Told, tmp_path: Path) -> None:
    it = user.configuration
    assert it.of(tmp_path).mode == "verified"
    project(tmp_path, 'mode = "diffusion"')
    assert it.of(tmp_path).mode == "diffusion"
    project(tmp_path, 'mode = "autoregressive"')
    assert it.of(tmp_path).mode == "autoregressive"
    (tmp_path / "pyproject.toml").unlink()
    assert it.of(tmp_path).mode == "verified"


def test_what_cannot_be_used_is_told_once_and_harms_no_other(user: Told, tmp_path: Path) -> None:
    it = user.configuration
    it.begin({"mode": 3, "model": "no-such", "log": ["text"], "modle": "1.5b"})
    for _ in range(3):
        assert it.of(None).mode == it.of(tmp_path).mode == "verified"
    assert len(user.told) == 4
    assert all(": use " in sentence for sentence in user.told)
    assert user.told[0].startswith("There is no setting 'modle'")
    it.push({"dlsp": {"mode": "magic", "model": "1.5b"}})
    assert it.of(None).model.name == "qwen2.5-coder-1.5b"
    assert "There is no mode 'magic'" in user.told[-1]


@pytest.mark.parametrize("text", ["[tool.dlsp\n", "tool = 3", "[tool]\ndlsp = 3", "\udcff", "a = " + "[" * 10_000])
def test_a_broken_project_file(user: Told, tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, errors="surrogateescape")
    assert user.configuration.of(tmp_path).mode == "verified"


def test_a_project_cannot_let_text_into_the_log(user: Told, tmp_path: Path) -> None:
    project(tmp_path, 'log = "text"\nmode = "diffusion"')
    assert (user.configuration.of(tmp_path).log, user.configuration.of(tmp_path).mode) == ("plain", "diffusion")
    assert "'log' cannot be set in pyproject.toml" in user.told[0]


def test_settings_that_are_no_table_are_told_once(user: Told, tmp_path: Path) -> None:
    it = user.configuration
    it.begin("fast")
    for _ in range(2):
        it.push({"dlsp": 3})
    it.pull({None: [], tmp_path: None})
    (tmp_path / "pyproject.toml").write_text("[tool]\ndlsp = 3\n")
    assert it.of(tmp_path).mode == "verified"
    ends = ["not 'fast'.", "not '3'.", "not '3'."]
    assert [sentence.partition("values, ")[2] for sentence in user.told] == ends


def test_names_of_others_are_no_slips(user: Told) -> None:
    """What VS Code keeps for its extension, and what other servers are told."""
    extension = json.loads((Path(__file__).parents[3] / "editors" / "vscode" / "package.json").read_text())
    names = {name.removeprefix("dlsp.") for name in extension["contributes"]["configuration"]["properties"]}
    assert "model" in names
    user.configuration.pull({None: dict.fromkeys(names)})
    user.configuration.push({"dlsp": dict.fromkeys(names)})
    user.configuration.push({"pylsp": {"plugins": {}}})
    assert user.told == []


@pytest.mark.parametrize("given", [None, 3, "x", [], {"dlsp": None}, {"dlsp": []}])
def test_odd_settings_are_none(user: Told, given: object) -> None:
    user.configuration.begin(given)
    user.configuration.push(given)
    user.configuration.pull({None: given})
    assert user.configuration.of(None).mode == "verified"


@pytest.mark.parametrize("glob", ["!", "foo\\"])
def test_a_glob_that_is_none_is_told_and_the_others_stand(user: Told, tmp_path: Path, glob: str) -> None:
    project(tmp_path, f"ignore = ['private/', '{glob}']")
    user.configuration.begin({"ignore": [glob, "*.sql"]})
    assert user.configuration.of(tmp_path).ignore == ("private/", "*.sql")
    assert user.told == [f"`ignore` cannot use '{glob}', which is no pattern of .gitignore."]


@pytest.mark.parametrize("context", [float("inf"), float("-inf"), float("nan"), "many", True])
def test_the_context_is_a_number_that_ends(user: Told, context: object) -> None:
    usual = user.configuration.of(None).context
    user.configuration.begin({"context": context})
    assert user.configuration.of(None).context == usual
    assert user.told == ["`context` is a number of tokens: for example 1024."]
    user.configuration.begin({"context": 2e3})
    assert user.configuration.of(None).context == 2000


def test_the_infill_update_is_on_until_it_is_set_to_false(user: Told) -> None:
    it = user.configuration
    it.begin({})
    assert it.of(None).infill_update
    it.push({"dlsp": {"infill_update": "no"}})
    assert it.of(None).infill_update
    assert user.told == ["`infill_update` is true, or false for the model as it was published."]
    it.push({"dlsp": {"infill_update": False}})
    assert not it.of(None).infill_update


def test_threads_are_a_number_that_a_machine_may_have(user: Told) -> None:
    it = user.configuration
    it.begin({"threads": 4})
    assert it.of(None).threads == 4
    it.push({"dlsp": {"threads": "all"}})
    assert it.of(None).threads == 4
    assert user.told == ["`threads` is a number from 0, for what suits the machine, to 256."]
