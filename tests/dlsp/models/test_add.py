"""Models that the user adds, from this machine and from the hub, as the engine's own process sees them."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from dlsp.cli import main
from dlsp.doctor import trial
from dlsp.doctor.engine import size
from dlsp.engine import state
from dlsp.engine.launch import serve_command
from dlsp.errors import UserError
from dlsp.models import add, added, store
from dlsp.models.added import find
from dlsp.models.catalogue import CATALOGUE
from dlsp.models.sizing import choose
from dlsp.settings.layers import SettingsLayers
from dlsp_engine.model.hashes import identity
from dlsp_engine.text.word_patterns import SPLITS
from tests.dlsp.models.hub import COMMIT, Hub, running
from tests.engine import as_gguf

VOCAB = 300
FIM = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random model, as the hub has them."""
    folder = tmp_path_factory.mktemp("made") / "Tiny Coder"
    as_gguf.model("qwen2", vocab=VOCAB).to(torch.bfloat16).save_pretrained(folder, max_shard_size="60KB")
    words = {word: number for number, word in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(words, []))  # type: ignore[call-arg]
    split = pre_tokenizers.Split(Regex(SPLITS["qwen2"].patterns[0]), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.add_special_tokens(["<|endoftext|>", *FIM])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def mine(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / made.name)


@pytest.fixture
def hub(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running(monkeypatch) as hub:
        hub.repositories["org/Tiny"] = {each.name: each.read_bytes() for each in made.iterdir()}
        yield hub


def dlsp(*words: str) -> int:
    return main(["model", *words])


def test_a_folder_is_added_listed_used_and_removed(mine: Path, capsys: pytest.CaptureFixture[str]):
    assert dlsp("add", str(mine)) == 0
    said = capsys.readouterr().out
    assert "tiny-coder is ready: qwen2, 0 million parameters" in said
    assert "It fills gaps" in said
    model = find("tiny-coder")
    assert (model.path, model.family, model.fills, model.attention) == (mine, "qwen2", True, "causal")
    assert store.path(model) == mine
    assert model.stem == identity(mine, mine.parent), "the engine names conversions and costs so"

    assert dlsp("list") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("tiny-coder")]
    assert "here" in line
    assert str(mine) in line
    assert dlsp("show", "tiny-coder") == 0
    shown = capsys.readouterr().out
    for word in (model.sha256, "this machine", "79.1%", "not measured"):
        assert word in shown

    converted = mine.parent / "cache" / "converted" / f"{model.stem}-1"
    converted.mkdir(parents=True)
    other = converted.with_name("other-0123456789ab-1")
    other.mkdir()
    assert dlsp("remove", "tiny-coder") == 0
    assert "your own" in capsys.readouterr().out
    assert (mine / "config.json").exists()
    assert not converted.exists()
    assert other.exists()
    with pytest.raises(UserError, match="There is no model 'tiny-coder'"):
        find("tiny-coder")
    assert not [*added.folder().iterdir()]


def with_token(folder: Path, token: str) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_special_tokens([token])
    tokenizer.save(str(folder / "tokenizer.json"))


def test_an_edit_format_is_known_by_the_model_s_name_or_by_the_option(mine: Path, capsys: pytest.CaptureFixture[str]):
    folder = mine.rename(mine.with_name("sweep-next-edit-0.5B"))
    assert dlsp("add", str(folder)) == 1
    assert "in the format 'sweep', since its vocabulary has no token <|file_sep|>" in capsys.readouterr().err
    assert dlsp("add", str(folder), "--edit-format", "none") == 0
    assert find("sweep-next-edit-0.5b").edit_format == ""
    with_token(folder, "<|file_sep|>")
    assert dlsp("add", str(folder)) == 0
    assert "Next edits: also what the model writes, in the format `sweep`" in capsys.readouterr().out
    model = find("sweep-next-edit-0.5b")
    assert model.edit_format == "sweep"
    command = serve_command(model)
    assert command[command.index("--edit-format") + 1] == "sweep"
    assert dlsp("add", str(folder), "--edit-format", "zeta2", "--name", "other") == 1
    assert "no token <[fim-suffix]> or <[fim-prefix]> or <[fim-middle]>" in capsys.readouterr().err


def test_a_record_without_a_format_is_one_of_a_model_that_nobody_taught(mine: Path):
    assert dlsp("add", str(mine)) == 0
    (record,) = added.folder().glob("*.json")
    kept = json.loads(record.read_text())
    assert kept.pop("edit_format") == ""
    record.write_text(json.dumps(kept))
    assert find("tiny-coder").edit_format == ""


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("sweepai/sweep-next-edit-1.5B sweep-next-edit-1.5b.q8_0.v2.gguf", "sweep"),
        ("sweep-next-edit-v2-7B", "sweep"),
        ("zed-industries_zeta-2-Q4_K_M.gguf", "zeta2"),
        ("zed-industries/zeta-2.1", "zeta2.1"),
        ("zeta2.1-8b-q4_0.gguf", "zeta2.1"),
        ("zed-industries/zeta", "zeta1"),
        ("zed-industries_zeta-Q8_0.gguf", "zeta1"),
        ("someone/zetatech-7b", ""),
        ("zed-industries/zeta-2.2", ""),
        ("Qwen/Qwen2.5-Coder-0.5B", ""),
    ],
)
def test_names_of_models_that_others_taught(name: str, form: str):
    assert add.named_format(name) == form


def test_a_model_of_the_hub_comes_is_checked_and_goes_with_its_files(hub: Hub, made: Path, tmp_path: Path):
    shards = [each.name for each in made.glob("*.safetensors")]
    hub.repositories["org/Tiny"]["consolidated.safetensors"] = b"not needed"
    assert dlsp("add", "org/Tiny", "--revision", COMMIT) == 0
    model = find("tiny")
    assert model.path
    assert model.path == added.folder() / "tiny"
    assert (model.repo, model.revision) == ("org/Tiny", COMMIT)
    assert {each.name for each in model.path.glob("*.safetensors")} == {*shards}
    first = [path for path, _ in hub.asked].index(shards[0])
    assert {"config.json", "tokenizer.json"} <= {path for path, _ in hub.asked[:first]}, "what describes it comes first"
    moved = shutil.copytree(tmp_path / "cache", tmp_path / "moved")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLSP_CACHE_DIR", str(moved))
        assert find("tiny").path == moved / "models" / "added" / "tiny"
    assert dlsp("remove", "tiny") == 0
    assert not model.path.exists()


def test_what_cannot_run_is_refused_before_its_weights_come(hub: Hub, capsys: pytest.CaptureFixture[str]):
    config = json.loads(hub.repositories["org/Tiny"]["config.json"]) | {"model_type": "mamba"}
    hub.repositories["org/Tiny"]["config.json"] = json.dumps(config).encode()
    assert dlsp("add", "org/Tiny") == 1
    assert "a model of the family mamba, and the engine runs qwen2" in capsys.readouterr().err
    assert not [path for path, _ in hub.asked if path.endswith(".safetensors")]
    assert added.added() == ()


def test_a_damaged_model_is_refused_with_the_engine_s_reason(mine: Path, capsys: pytest.CaptureFixture[str]):
    shard = min(mine.glob("*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:-1])
    assert dlsp("add", str(mine), "--name", "broken") == 1
    said = capsys.readouterr().err
    assert "is damaged or incomplete" in said
    assert "Traceback" not in said
    assert added.added() == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere/at/all"], "There is no /nowhere/at/all: name a GGUF file"),
        (["."], "has neither a GGUF file nor a config.json"),
        ([".", "--revision", "main"], "only repositories of the model hub have revisions"),
        (["two"], "several GGUF files: name one with --file. It has a.gguf, b.gguf"),
        (["two", "--file", "c.gguf"], "has no file c.gguf"),
        (["two/a.gguf", "--name", "Ä"], "cannot be a model's name"),
        (["two/a.gguf", "--name", "../x"], "cannot be a model's name"),
        (["two/a.gguf", "--name", "auto"], "a model of dlsp's own: pass another with --name"),
        (["two/a.gguf", "--name", "0.5b"], "a model of dlsp's own: pass another with --name"),
        (["two/a.gguf"], "a.gguf is damaged or no GGUF file"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_pass(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    (tmp_path / "two").mkdir()
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / "two" / name).write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    assert dlsp("add", *words) == 1
    assert said in capsys.readouterr().err


def recorded(path: Path, name: str, **values: object) -> None:
    """A record as `add` writes it."""
    about = {"parameters": 1, "family": "qwen2", "fills": True} | _CAUSAL | values
    model = add._model(name, path, about, add.SILENT, "")
    added.keep(model)
    store.accept_in_place(model)


_CAUSAL = {"convention": {"attention": "causal"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (file := tmp_path / "own.gguf").write_bytes(b"weights")
    return file


def test_a_changed_or_missing_model_is_not_used(file: Path, tmp_path: Path):
    recorded(file, "own")
    model = find("own")
    assert store.path(model) == file
    file.touch()
    assert store.path(model) == file, "another time alone changes nothing"
    file.write_bytes(b"Weights")
    with pytest.raises(store.ModelMissing, match=r"has changed since it was added: run `dlsp model add .*own.gguf"):
        store.path(model)
    file.unlink()
    with pytest.raises(store.ModelMissing, match=r"not at .* any more: put it back, or run `dlsp model remove own`"):
        store.path(model)


def test_a_name_is_not_taken_from_another_model(file: Path, tmp_path: Path):
    recorded(file, "own")
    with pytest.raises(UserError, match=r"a model 'own' already, from .*own\.gguf: pass another name"):
        add._free("own", str(tmp_path / "elsewhere.gguf"))
    assert add._free("own", str(file)) == "own"


def test_records_that_cannot_be_read_are_passed_over(file: Path):
    recorded(file, "own")
    for name, text in (("a", "{"), ("b", "[]"), ("c", "{}"), ("d", (added.folder() / "own.json").read_text())):
        (added.folder() / f"{name}.json").write_text(text)
    assert [model.name for model in added.added()] == ["own"]


def test_a_setting_takes_the_name_at_once(file: Path):
    told: list[str] = []
    layers = SettingsLayers(told.append)
    layers.set_initial({"model": "own"})
    assert "There is no model 'own': use 0.5b or 1.5b, or add it" in told[0]
    recorded(file, "own")
    layers.refresh(None)
    assert layers.of(None).model.name == "own"
    added.forget(find("own"))
    layers.refresh(None)
    assert layers.of(None).model == CATALOGUE[0]


def costs(tmp_path: Path, **steps: float) -> None:
    table = {
        f"{find(name).stem} int8": {
            "costs": {"rows": [1, 4, 128], "milliseconds": [step, step, 9], "canvas": 0, "canvas_row": 0}
        }
        for name, step in steps.items()
    }
    (tmp_path / "cache" / "costs.json").write_text(json.dumps(table))


def test_auto_takes_an_added_model_once_it_is_measured_to_be_fast_enough(file: Path, tmp_path: Path):
    (other := file.with_name("other.gguf")).write_bytes(b"other weights")
    recorded(other, "small", parameters=10_000_000)
    recorded(file, "large", parameters=3_000_000_000)
    for model in CATALOGUE[:1]:
        store.place(model).touch()
    assert choose().model == CATALOGUE[0], "nothing is measured"
    costs(tmp_path, **{"0.5b": 20})
    assert choose().model == CATALOGUE[0]
    assert "large would be too slow here" in choose().why
    assert "a line takes 0.5b 94 ms (measured)" in size().said
    assert "large" in size().said
    costs(tmp_path, **{"0.5b": 20, "large": 30})
    assert choose().model.name == "large"
    assert choose().estimates["large"].how == "measured"
    assert choose().estimates["small"].how == "estimated from 0.5b"


@pytest.mark.parametrize("values", [{"fills": False}, {"convention": {"attention": "whole"}}])
def test_auto_leaves_alone_what_fills_no_gaps_as_the_server_asks(file: Path, tmp_path: Path, values: dict[str, object]):
    recorded(file, "odd", parameters=600_000_000, **values)
    store.place(CATALOGUE[0]).touch()
    costs(tmp_path, **{"0.5b": 5, "odd": 1})
    assert choose().model == CATALOGUE[0]


def test_a_model_is_tried_by_its_engine_and_measured_once(
    mine: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    monkeypatch.setattr(trial, "BEFORE", 400)
    monkeypatch.setattr(trial, "AFTER", 200)
    assert dlsp("add", str(mine), "--name", "mine") == 0
    assert dlsp("bench", "mine") == 0
    said = capfd.readouterr().out
    for what in ("autoregressive", "verified", "a line", "reading", "memory", "exact", "pass@1"):
        assert re.search(rf"^{re.escape(what)} +\S", said, re.MULTILINE), what
    assert not state.alive("mine"), "it is ended, as it did not run before"
    assert choose().estimates["mine"].how.startswith("measured")
    assert dlsp("list", "--json") == 0
    (listed,) = (each for each in json.loads(capfd.readouterr().out) if each["name"] == "mine")
    assert (listed["state"], listed["size"]) == ("here", find("mine").size)
    assert "ms a line" in listed["here"]
