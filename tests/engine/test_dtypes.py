"""The dtype that a model gets on a CPU, where nobody names one."""

from dataclasses import replace
from pathlib import Path

import pytest

from dlsp.models import catalogue
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.convention import Convention
from dlsp_engine.model.dtypes import refusal, usual
from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.kinds import BY_ONEDNN, best

SMALL = Architecture(24, 896, 14, 2, 64, 4864, 151936, 1e6, 1e-6)
LARGE = Architecture(28, 1536, 12, 2, 128, 8960, 151936, 1e6, 1e-6)
NATIVE = best()


def file_of(folder: Path, size: int) -> Path:
    """A file of so many bytes, none of which is on disk."""
    path = folder / "m.gguf"
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_the_weights_are_counted() -> None:
    assert (SMALL.weights, LARGE.weights) == (493_961_216, 1_543_569_408)
    assert replace(SMALL, tied=False).weights == SMALL.weights + 151936 * 896


@pytest.mark.skipif(not isinstance(NATIVE, Compiled), reason="no 4-bit kernel runs on this machine")
@pytest.mark.parametrize(
    ("shape", "size", "dtype"),
    [
        (LARGE, catalogue.find("1.5b").size, "int4"),
        (SMALL, catalogue.find("0.5b").size, "int8"),
        (LARGE, LARGE.weights, "int8"),  # a file of 8 bits a weight
        (replace(LARGE, head_norm=True), catalogue.find("1.5b").size, "int8"),
        (replace(LARGE, layer_norm=True), catalogue.find("1.5b").size, "int8"),
    ],
)
def test_a_large_model_in_a_file_of_few_bits_is_read_in_4(
    tmp_path: Path, shape: Architecture, size: int, dtype: str
) -> None:
    assert usual(shape, file_of(tmp_path, size), NATIVE) == dtype


def test_a_folder_counts_with_all_its_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    whole = file_of(tmp_path, 900_000_000)
    whole.rename(tmp_path / "a" / "first")
    file_of(tmp_path, LARGE.weights).rename(tmp_path / "a" / "second")
    assert usual(LARGE, tmp_path / "a", NATIVE) in ("int8", "bfloat16", "float32")


def test_without_an_int8_matmul_weights_are_dense(tmp_path: Path) -> None:
    path = file_of(tmp_path, 1000)
    assert usual(LARGE, path, None) in ("bfloat16", "float32")
    whole = replace(LARGE, convention=Convention(attention="whole", mask=0))
    assert usual(whole, path, NATIVE) in ("bfloat16", "float32")


def test_what_does_not_run_in_4_bits_is_refused() -> None:
    assert refusal(LARGE, BY_ONEDNN[0]) == "No 4-bit kernel runs on this machine; set dtype to 'int8'."
