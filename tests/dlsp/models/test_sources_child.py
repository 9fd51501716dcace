"""pytest tests/dlsp/models/test_sources_child.py"""

import errno
import os
import sys
import time
from pathlib import Path

import pytest

from dlsp.models.sources import Unavailable
from dlsp.models.sources.child import download


def run(code: str, tmp_path: Path, stall_s: float | None = None) -> list[int]:
    """Run Python code that may write the file `out`; the sizes that were reported."""
    out, seen = tmp_path / "out", []
    download(
        [sys.executable, "-c", f"import os, sys, time\nout = {str(out)!r}\n{code}"],
        {},
        log=tmp_path / "log",
        size=lambda: out.stat().st_size if out.exists() else 0,
        report=seen.append,
        stall_s=stall_s,
    )
    return seen


def test_growth_is_reported(tmp_path: Path):
    code = "for n in 1, 2:\n    open(out, 'ab').write(b'x' * 10)\n    time.sleep(0.5)"
    assert run(code, tmp_path) == [10, 20]


def test_a_download_that_stalls_is_given_up_and_ended(tmp_path: Path):
    code = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    started = time.monotonic()
    with pytest.raises(Unavailable, match="stopped sending"):
        run(code, tmp_path, stall_s=0.5)
    assert time.monotonic() - started < 5
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_failure_is_reported_by_its_last_words(tmp_path: Path):
    with pytest.raises(Unavailable, match=r"failed \(no such part\)"):
        run("sys.exit('WARNING: trying\\nERROR: no such part\\n')", tmp_path)


def test_a_full_disk_is_recognised(tmp_path: Path):
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        run(f"raise OSError({errno.ENOSPC}, os.strerror({errno.ENOSPC}))", tmp_path)
    assert caught.value.errno == errno.ENOSPC
