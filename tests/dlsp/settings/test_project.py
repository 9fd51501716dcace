"""`[tool.dlsp]` is found as TOML has it, in a time that the file does not choose."""

import os
import sys
import time
from pathlib import Path

import pytest

from dlsp.settings.project import Unusable, tool_table


def table(folder: Path, text: str) -> object:
    (folder / "pyproject.toml").write_text(text)
    return tool_table(folder / "pyproject.toml")


@pytest.mark.parametrize(
    "text",
    [
        '[tool.dlsp]\nmode = "a"\n',
        '[project]\nname = "x"\n[tool.dlsp] # here\nmode = "a"\n[tool.other]\nmode = "b"\n',
        '[ tool . "dlsp" ]\r\nmode = "a"\r\n',
        '[tool]\ndlsp = { mode = "a" }\n',
        '[tool]\ndlsp.mode = "a"\n',
        'tool.dlsp.mode = "a"\n[project]\nname = "x"\n',
        '[a]\nb = [\n  [1, 2],\n  ["x"],\n]\n[tool.dlsp]\nmode = "a"',
        "[a]\n" + "x" * 5000 + " this would be no TOML\n[tool.dlsp]\nmode = 'a'",
    ],
)
def test_the_table_wherever_it_stands(tmp_path: Path, text: str) -> None:
    assert table(tmp_path, text) == {"mode": "a"}


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'\n", "tool = 3\n", "[tool.dlsp-more]\na = 1\n", "[tool]\n"])
def test_no_table(tmp_path: Path, text: str) -> None:
    assert table(tmp_path, text) is None


def test_a_table_of_several_lines(tmp_path: Path) -> None:
    assert table(tmp_path, '[tool.dlsp]\nignore = [\n    "a/*",\n    "b.py",\n]\n') == {"ignore": ["a/*", "b.py"]}


DOTS = ".".join(["a"] * 50_000)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        f"{DOTS} = 1\n",
        f"[tool.dlsp]\n{DOTS} = 1\n",
        f"[tool.dlsp]\nx = {{ {DOTS} = 1 }}\n",
        f"[tool.dlsp.{DOTS}]\n",
        f"[tool.dlsp]\n{DOTS.replace('.', ' . ')} = 1\n",
        "[tool.dlsp]\n" + "".join(f"a{number} = 1\n" for number in range(80_000)),
        "[tool.dlsp]\na = " + "[" * 50_000,
        "a" * 1_000_001,
        "[tool.dlsp]\na = '" + "\udcff'\n",
        "[tool.dlsp\n",
        "[" * 900_000 + "\n[tool.dlsp]\nmode = 'a'\n",
    ],
)
def test_what_cannot_be_used_is_known_soon(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text, errors="surrogateescape")
    began = time.process_time()
    with pytest.raises(Unusable):
        tool_table(file)
    assert time.process_time() - began < 0.5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["[project]\n" + DOTS + " = 1\n", "[a]\n" + "b = [[[[\n" * 100_000])
def test_other_tables_cost_nothing(tmp_path: Path, text: str) -> None:
    began = time.process_time()
    assert table(tmp_path, text + "\n[tool.dlsp]\nmode = 'a'\n") == {"mode": "a"}
    assert time.process_time() - began < 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.timeout(20)
def test_links_out_and_pipes(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    for make in (
        lambda: os.symlink("/dev/zero", file),
        lambda: os.symlink("/dev/stdin", file),
        lambda: os.mkfifo(file),
    ):
        make()
        with pytest.raises(Unusable):
            tool_table(file)
        file.unlink()
