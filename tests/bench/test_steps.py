"""Steps of two dtypes by turns: what is counted as read, and how ratios and shares are taken."""

import numpy as np
from safetensors.numpy import save_file

from bench.steps import ROWS, reading, step_bytes, summary


def test_a_step_of_clean_rows_reads_matrices_and_scales(tmp_path) -> None:
    """Not the canvas adapter's second halves, nor the rotation."""
    path = tmp_path / "int4.safetensors"
    tensors = {"0.qkv.weight": np.zeros((4, 6), np.uint8), "0.qkv.scale": np.zeros(4, np.float32)}
    save_file(tensors | {"0.qkv.b": np.zeros((2, 4), np.int8), "turn": np.zeros((8, 8), np.float32)}, path)
    assert step_bytes(path) == 4 * 6 + 4 * 4


def test_all_threads_read_the_whole_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "weights"
    np.arange(10_000).tofile(path)
    read: list[int] = []
    monkeypatch.setattr(np, "max", lambda part: read.append(len(part)))
    reading(path, 3)()
    assert sorted(read) == [3333, 3333, 3334]


def test_ratios_and_shares_are_those_of_a_turn() -> None:
    """In the second turn the machine is twice as slow: ratios and shares stay."""
    turns = [
        {
            f"{dtype}/{rows}{of}": times * slow * rows
            for dtype, of, times in (
                ("int8", "", 10.0),
                ("int4", "", 5.0),
                ("int8", "/cpu", 8.0),
                ("int4", "/cpu", 6.0),
            )
            for rows in ROWS
        }
        | {"int4/read": 4.0 * slow}
        for slow in (1, 2)
    ]
    found = summary(turns, ["int8", "int4"], {"int4": (50_000_000, 60_000_000)})
    assert found["int4/8/ms_median"] == 60
    assert (found["int4/8/ratio_q1"], found["int4/8/ratio_q3"]) == (0.5, 0.5)
    assert (found["int4/8/cpu_ms_q1"], found["int4/8/cpu_ratio_median"]) == (60, 0.75)
    assert "int8/8/ratio_median" not in found
    assert found["int4/read_gb_s_median"] == 11.25, "15 and 7.5"
    assert round(found["int4/share_median"], 3) == 0.667, "10 GB/s of 15, then 5 of 7.5"
