import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlsp import atomic
from dlsp.completions.gate.learning import Learning


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("old")
    (link := tmp_path / "link").symlink_to(file)
    atomic.write(link, b"new")
    assert (file.read_text(), link.is_symlink()) == ("new", True)


@pytest.mark.usefixtures("full_disk")
def test_nothing_is_left_of_what_could_not_be_written(tmp_path: Path, state_folder: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        atomic.write(tmp_path / "file", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
    learning = Learning()
    learning.saw("python", 0.5, True)
    learning.save()
    assert [each.name for each in state_folder.iterdir() if each.suffix != ".lock"] == []


KILLED = """
import os, sys
from pathlib import Path
from dlsp import atomic
os.replace = lambda *_: os._exit(9)
atomic.write(Path(sys.argv[1]), b"new")
"""


def test_what_a_killed_process_left_is_removed_later(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    (left,) = tmp_path.glob(".dlsp-*")
    assert file.read_text() == "old"
    atomic.write(file, b"new")
    assert left.exists(), "it may be another process's that is at it"
    os.utime(left, (0, 0))
    (tmp_path / ".dlsp-settings").touch()
    os.utime(tmp_path / ".dlsp-settings", (0, 0))
    atomic.write(file, b"newer")
    assert sorted(each.name for each in tmp_path.iterdir()) == [".dlsp-settings", "file"]
