"""The plugin as a user installs it: unpacked from its archive into a folder for packages."""

import importlib.util
import os
import subprocess
import tarfile
from pathlib import Path

from tests.e2e.neovim.neovim import PLUGIN

SCRIPT = PLUGIN.parent / "pack.py"


def pack(folder: Path) -> Path:
    spec = importlib.util.spec_from_file_location("pack", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pack(folder)


def test_the_archive_is_a_plugin(program: Path, tmp_path: Path) -> None:
    archive = pack(tmp_path / "one")
    assert archive.read_bytes() == pack(tmp_path / "two").read_bytes()
    packages = tmp_path / "data/nvim/site/pack/dlsp/start"
    packages.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(packages, filter="data")
    assert sorted(each.name for each in (packages / "dlsp.nvim").iterdir()) == [
        *("LICENSE", "README.md", "doc", "lsp", "lua", "plugin"),
    ]
    environment = {
        **os.environ,
        "VIMRUNTIME": f"{program.parents[1]}/share/nvim/runtime",
        "NVIM_LOG_FILE": "/dev/null",
        **{f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")},
    }
    commands = ["+helptags ALL", "+help dlsp-install", "+echo exists(':Dlsp') expand('%:p')", "+qall"]
    done = subprocess.run(
        [program, "--headless", "-n", "-i", "NONE", *commands],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr.strip().endswith(f"2 {packages}/dlsp.nvim/doc/dlsp.txt")
