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
