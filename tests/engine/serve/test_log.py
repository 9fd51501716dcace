"""The engine's log stays short while it runs."""

import subprocess
import sys
from pathlib import Path

import pytest

LOG = """
import logging, os, sys
from pathlib import Path
from dlsp_engine.serve import log
log.MAX_LOG_BYTES = 10_000
logging.basicConfig(handlers=[log.Bounded(Path(sys.argv[1]))])
if sys.argv[2:]:
    def full(*_):
        raise OSError(24, "Too many open files")
    os.open = full
for number in range(10_000):
    logging.error("line %d", number)
print("the end", file=sys.stderr)
"""


def logged(path: Path, *options: str) -> None:
    with path.open("ab") as file:
        subprocess.run([sys.executable, "-c", LOG, str(path), *options], stderr=file, check=True)


def test_a_log_that_grows_begins_anew_and_keeps_the_last_part(tmp_path: Path) -> None:
    path = tmp_path / "engine-m.log"
    path.write_text("of an earlier engine\n" * 100_000)
    logged(path)
    assert [each.stat().st_size < 11_000 for each in sorted(tmp_path.iterdir())] == [True, True]
    text = path.with_name("engine-m.log.1").read_text().partition("\n")[2] + path.read_text()
    lines = text.splitlines()
    assert lines[-1] == "the end"
    numbers = [int(line.rpartition(" ")[2]) for line in lines[:-1]]
    assert numbers == list(range(numbers[0], 10_000)), "nothing between is missing"


def test_a_log_stays_short_where_nothing_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "engine-m.log"
    logged(path, "full")
    assert path.stat().st_size < 11_000
    assert path.read_text().endswith("the end\n")


def test_what_is_not_the_log_is_left_as_it_is(tmp_path: Path) -> None:
    """As a terminal is, or a file that somebody else lets it write to."""
    (tmp_path / "mine").touch()
    with (tmp_path / "mine").open("ab") as file:
        subprocess.run([sys.executable, "-c", LOG, str(tmp_path / "engine-m.log")], stderr=file, check=True)
    assert (tmp_path / "mine").read_text().count("\n") == 10_001
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_what_stood_in_it_before_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "engine-m.log"
    logged(path)
    assert path.with_name("engine-m.log.1").stat().st_mode & 0o777 == 0o600
