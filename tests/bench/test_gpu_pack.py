from pathlib import Path

import pytest

from bench.gpu.pack import pack


def test_what_is_missing_leaves_what_was_packed_before(tmp_path: Path):
    out = tmp_path / "parts"
    (out / "01").mkdir(parents=True)
    with pytest.raises(FileNotFoundError):
        pack(tmp_path / "no.gguf", tmp_path / "tokenizer.json", tmp_path, out, 1000)
    assert (out / "01").exists()
