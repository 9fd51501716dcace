"""`dlsp model …`. pytest tests/dlsp/models/test_cli.py"""

import argparse
from pathlib import Path

import pytest

from dlsp.cli import model as cli
from dlsp.errors import UserError
from dlsp.models import catalogue, store
from dlsp.models.catalogue import Model


@pytest.fixture(autouse=True)
def fake(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "CATALOGUE", (model,))
    for module in (catalogue, cli):
        monkeypatch.setattr(module, "DEFAULT", model)


@pytest.fixture
def mine(tmp_path: Path, data: bytes) -> Path:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(data)
    return mine


def dlsp(*words: str) -> int:
    parser = argparse.ArgumentParser()
    cli.add(parser.add_subparsers())
    args = parser.parse_args(["model", *words])
    return args.run(args)


def test_pull_path_list_verify(model: Model, mine: Path, capsys: pytest.CaptureFixture[str]):
    assert dlsp("list") == 0
    assert "not here" in capsys.readouterr().out

    assert dlsp("pull", "0.1b", "--from", str(mine)) == 0
    assert str(store.place(model)) in capsys.readouterr().out

    assert dlsp("path") == 0
    assert capsys.readouterr().out == f"{store.place(model)}\n"

    assert dlsp("list") == 0
    shown = capsys.readouterr().out
    assert "not here" not in shown
    for word in (model.short, "3 MB", "MIT", str(store.place(model))):
        assert word in shown

    assert dlsp("verify") == 0
    assert model.sha256 in capsys.readouterr().out

    store.place(model).write_bytes(b"something else")
    assert dlsp("list") == 0
    shown = capsys.readouterr().out
    assert "damaged" in shown
    assert "here" not in shown.replace(str(store.place(model)), "")


@pytest.mark.parametrize("words", [["path"], ["verify"], ["pull", "--from", "/nowhere"], ["path", "9b"]])
def test_errors_are_for_the_user(words: list[str]):
    with pytest.raises(UserError, match=r"dlsp model pull|--from|use 0"):
        dlsp(*words)


def test_ctrl_c_says_that_nothing_is_lost(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dlsp.models.pull.pull", stop)
    assert dlsp("pull") == 130
    assert "goes on from here" in capsys.readouterr().err
