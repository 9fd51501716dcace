"""What is fetched of the hub's repositories, and how breaks and lies end."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from dlsp.errors import UserError
from dlsp.models import repository
from dlsp.models.progress import SILENT
from dlsp.models.repository import Repository, indexed
from tests.dlsp.models.hub import COMMIT, Hub, running

NAME = "org/model"
WEIGHTS = "model.safetensors"
CHUNK_BYTES = 10 * 2**20  # what the official client writes at once, and what a break costs at most


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running(monkeypatch) as hub:
        hub.repositories[NAME] = {
            "config.json": b"{}",
            "tokenizer.json": b"[]",
            "README.md": b"words",
            "modeling_own.py": b"raise SystemExit",
            WEIGHTS: random.Random(5).randbytes(3_000_000),
        }
        yield hub


def paths(name: str = NAME, wanted: str | None = None) -> list[str]:
    return [each.path for each in Repository.listed(name, None).model_files(wanted)[0]]


def bring(folder: Path) -> None:
    found = Repository.listed(NAME, None)
    folder.mkdir(exist_ok=True)
    found.bring(found.model_files(None)[0], folder, SILENT)


def test_of_a_repository_only_what_describes_a_model_and_its_weights_come(hub: Hub, tmp_path: Path):
    bring(tmp_path / "m")
    wanted = {"config.json", "tokenizer.json", WEIGHTS}
    assert {each.name for each in (tmp_path / "m").iterdir()} - {"hub.log"} == wanted
    for name in wanted:
        assert (tmp_path / "m" / name).read_bytes() == hub.repositories[NAME][name]
    hub.asked.clear()
    bring(tmp_path / "m")
    assert hub.asked == [], "what is there stays"


def test_a_download_that_breaks_goes_on_from_there(hub: Hub, tmp_path: Path):
    hub.repositories[NAME][WEIGHTS] = random.Random(5).randbytes(23_000_000)
    hub.breaks[WEIGHTS] = [11_000_000, 12_000_000]
    bring(tmp_path / "m")
    assert (tmp_path / "m" / WEIGHTS).read_bytes() == hub.repositories[NAME][WEIGHTS]
    assert [start for path, start in hub.asked if path == WEIGHTS] == [0, CHUNK_BYTES, 2 * CHUNK_BYTES]


def test_a_download_of_an_earlier_command_is_gone_on_with(hub: Hub, tmp_path: Path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / f"{WEIGHTS}.incomplete").write_bytes(hub.repositories[NAME][WEIGHTS][:2_000_000])
    bring(tmp_path / "m")
    assert [start for path, start in hub.asked if path == WEIGHTS] == [2_000_000]


@pytest.mark.parametrize("left", [b"\0" * 3_000_000, b"\0" * 4_000_000, b"\0" * 1000])
def test_wrong_bytes_of_an_earlier_command_do_not_stay(hub: Hub, tmp_path: Path, left: bytes):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / f"{WEIGHTS}.incomplete").write_bytes(left)
    if len(left) != 4_000_000:
        with pytest.raises(UserError, match=r"another model\.safetensors than it lists: run the same command again"):
            bring(tmp_path / "m")
    bring(tmp_path / "m")
    assert (tmp_path / "m" / WEIGHTS).read_bytes() == hub.repositories[NAME][WEIGHTS]


@pytest.mark.parametrize("listed", [b"longer" * 1_000_000, b"shorter", b"\1" * 3_000_000])
def test_a_file_that_is_not_as_listed_is_refused(hub: Hub, tmp_path: Path, listed: bytes):
    hub.listed[WEIGHTS] = listed
    with pytest.raises(UserError) as refused:
        bring(tmp_path / "m")
    assert WEIGHTS in str(refused.value)
    assert "same command" in str(refused.value)
    assert not (tmp_path / "m" / WEIGHTS).exists()


@pytest.mark.parametrize("listed", [b"{ }", b"[]"])
def test_small_files_are_checked_too(hub: Hub, tmp_path: Path, listed: bytes):
    hub.listed["config.json"] = listed
    with pytest.raises(UserError, match=r"config\.json"):
        bring(tmp_path / "m")


def test_of_several_weights_those_of_the_index_come(hub: Hub, tmp_path: Path):
    files = dict.fromkeys(("a-1.safetensors", "a-2.safetensors", "consolidated.safetensors"), b"x")
    index = {"weight_map": {"one": "a-1.safetensors", "two": "a-2.safetensors"}}
    hub.repositories[NAME] = {"config.json": b"{}", "sub/b.safetensors": b"y", **files}
    hub.repositories[NAME] |= {repository.INDEX: json.dumps(index).encode()}
    (tmp_path / repository.INDEX).write_text(json.dumps(index))
    found = indexed(Repository.listed(NAME, None).model_files(None)[0], tmp_path)
    assert [each.path for each in found] == ["config.json", repository.INDEX, "a-1.safetensors", "a-2.safetensors"]
    for damage in ("{", "[]", '{"weight_map": {"one": "gone.safetensors"}}', '{"weight_map": 3}'):
        (tmp_path / repository.INDEX).write_text(damage)
        with pytest.raises(UserError, match=repository.INDEX):
            indexed(found, tmp_path)


def test_which_gguf_file(hub: Hub):
    hub.repositories["org/one"] = {"README.md": b"", "deep/m-q8.gguf": b"1"}
    assert paths("org/one") == ["deep/m-q8.gguf"]
    hub.repositories["org/two"] = {"m-q4.gguf": b"1", "m-q8.gguf": b"2"}
    with pytest.raises(UserError, match=r"name one with --file. It has m-q4\.gguf, m-q8\.gguf"):
        paths("org/two")
    assert paths("org/two", "m-q8.gguf") == ["m-q8.gguf"]
    with pytest.raises(UserError, match=r"no GGUF file m-q2\.gguf: it has m-q4"):
        paths("org/two", "m-q2.gguf")
    hub.repositories["org/odd"] = {"..\\..\\m.gguf": b"1", "pytorch_model.bin": b"", "config.json": b"{}"}
    with pytest.raises(UserError, match=r"neither safetensors .* pickled, which is never read"):
        paths("org/odd")


def test_what_the_hub_refuses_is_said(hub: Hub, monkeypatch: pytest.MonkeyPatch):
    hub.gated.add("org/gated")
    cases: list[tuple[str, str | None, str]] = [
        ("org/nothing", None, "has no org/nothing"),
        ("org/gated", None, "accepted its terms"),
        (NAME, "v9", "no such revision"),
    ]
    for name, revision, said in cases:
        with pytest.raises(UserError, match=said):
            Repository.listed(name, revision)
    assert Repository.listed(NAME, COMMIT).commit == COMMIT
    assert hub.revisions[-2:] == ["v9", COMMIT]


@pytest.mark.parametrize("offline", ["switch", "port", "mute"])
def test_offline_is_one_sentence(monkeypatch: pytest.MonkeyPatch, offline: str):
    if offline == "switch":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    else:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    if offline == "mute":
        monkeypatch.setattr(repository, "LIST_S", 0.2)
        monkeypatch.setattr(repository, "_info", lambda *_: Event().wait())
    with pytest.raises(UserError) as refused:
        Repository.listed(NAME, None)
    said = str(refused.value)
    assert said.startswith("The model hub ")
    assert said.endswith(f": get the files of {NAME} onto this machine and run `dlsp model add PATH`.")
    assert "\n" not in said


def test_a_full_disk(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(folder: Path, needed: int) -> Any:
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(repository, "require_space", full)
    with pytest.raises(OSError, match="No space"):
        bring(tmp_path / "m")
    assert not hub.asked
