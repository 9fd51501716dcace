"""The sides in their processes, without a model: what cannot take part says why and leaves nothing behind."""

import multiprocessing
import sys
from pathlib import Path

import pytest

from bench.peers import __main__ as command
from bench.peers.child import Child
from bench.peers.llama import Llama
from bench.peers.ours import Ours
from bench.peers.side import Missing


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [(Llama, False, "llama.cpp cannot load .*nothing.gguf"), (Ours, "int3", "int3.* is not one of")],
)
def test_a_side_that_cannot_take_part_says_why(make: type, kind: object, said: str, tmp_path: Path):
    with pytest.raises(Missing, match=said):
        Child("one", {}, make, tmp_path / "nothing.gguf", kind, 1)
    assert not multiprocessing.active_children()


def test_without_the_wheel_llama_cpp_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(Missing, match="pip install"):
        Llama(tmp_path / "nothing.gguf", False, 1)


def test_the_command_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["bench.peers", "--model", "7b"])
    assert command.main() == 2
    assert "7b" in capsys.readouterr().err
