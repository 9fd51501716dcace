"""Fixtures of the benches' tests."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

# A file below DLSP_EVAL_DIR and its rows -> its path.
WriteSet = Callable[[str, Sequence[Mapping[str, Any]]], Path]


@pytest.fixture
def write_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteSet:
    """Writes evaluation sets where the test finds them."""
    monkeypatch.setenv("DLSP_EVAL_DIR", str(tmp_path))

    def write(file: str, rows: Sequence[Mapping[str, Any]]) -> Path:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)
        return path

    return write
