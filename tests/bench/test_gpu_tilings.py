"""What `tune` finds on a GPU is what kernels take there."""

import json
from pathlib import Path

import pytest
import torch

from bench.gpu import tilings
from dlsp_kernels import tiling as kernels
from dlsp_kernels.matrix import Matrix


def tuned(rows: int, *entry: object) -> dict[str, object]:
    return {"part": "tune-down", "name": "down", "rows": rows, "entry": [896, 4864, "dense", *entry]}


def test_tilings_are_loaded_by_the_name_of_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    samples = [tuned(25, 32, 64, 128, 4, 8, 2), tuned(1, 32, 16, 64, 1, 4, 4), {"part": "many", "name": "1 session"}]
    taken = tilings.taken({"machine": "This GPU", "samples": samples}, {"Another": []})
    assert taken["Another"] == []
    file = tmp_path / "tilings.json"
    file.write_text(json.dumps(taken))
    monkeypatch.setattr(kernels, "MEASURED", file)
    monkeypatch.setattr(kernels, "device_limits", lambda: (132, 227 * 1024))
    weight = Matrix("dense", torch.empty(0, dtype=torch.bfloat16), None, 896, 4864, torch.bfloat16)
    guess = kernels.tiling(5, weight, splits=True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    found = {}
    for name in ("This GPU", "Another"):
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda name=name: name)
        kernels.measured.cache_clear()
        found[name] = kernels.tiling(5, weight, splits=True)
    kernels.measured.cache_clear()
    assert found["This GPU"] == kernels.Tiling(32, 64, 128, 4, 8, 2), "the widest of the steps with one tiling decides"
    assert found["Another"] == guess
