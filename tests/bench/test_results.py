"""The form of results files."""

import json
import re
import resource
from itertools import pairwise

import pytest

from bench import results
from dlsp import paths


@pytest.mark.parametrize(
    ("processor", "family"),
    [
        ("AMD EPYC", "epyc"),
        ("AMD EPYC 7763 64-Core Processor", "epyc-7763"),
        ("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "xeon-platinum-8370c"),
        ("13th Gen Intel(R) Core(TM) i7-1360P", "i7-1360p"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "ryzen-7-7840u"),
        ("Apple M2 Pro", "m2-pro"),
    ],
)
def test_machines_have_short_names(processor, family):
    assert results.family(processor) == family


def test_the_machine_can_be_named(monkeypatch):
    monkeypatch.setenv("DLSP_MACHINE", "desk")
    assert results.machine() == "desk"
    monkeypatch.delenv("DLSP_MACHINE")
    assert re.fullmatch(r"[a-z0-9-]+-\d+c", results.machine())


def test_a_file_has_the_form_of_all_results(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setenv("DLSP_MACHINE", "desk")
    path = results.write("speed", "python -m bench.speed", {"ms": 1.5}, [{"task": "é"}], sandbox=["limits"])
    assert path == tmp_path / "speed-desk.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    fields = "bench machine hardware versions commit date command sandbox metrics samples_of samples"
    assert list(written) == fields.split()
    assert written["versions"].keys() == {"dlsp", "torch", "python"}
    assert written["metrics"] == {"ms": 1.5}
    assert written["samples"] == [{"task": "é"}]


def test_what_is_finished_is_kept_beside_results_that_have_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "_OWN", str(tmp_path))
    assert results.kept().parent == tmp_path / "kept"
    monkeypatch.setattr(results, "_OWN", None)
    assert results.kept().parent == paths.cache_dir() / "bench"


def test_what_is_kept_of_one_set_of_infill_updates_is_not_found_with_another(tmp_path, monkeypatch):
    monkeypatch.setattr(results.dlsp_engine, "__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "adapters").mkdir()
    update = tmp_path / "adapters" / "small.infill-update.safetensors"
    folders = [results.kept()]
    for content in (b"first", b"second"):
        update.write_bytes(content)
        folders.append(results.kept())
    assert len(set(folders)) == 3
    update.write_bytes(b"first")
    assert results.kept() == folders[1]


def test_many_samples_are_thinned_evenly_to_stay_small(tmp_path):
    samples = [{"task": number, "text": "x" * 1000} for number in range(3000)]
    path = results.write("big", "", {}, samples, tmp_path / "big.json")
    written = json.loads(path.read_text())
    kept = [sample["task"] for sample in written["samples"]]
    assert path.stat().st_size < 1_000_000
    assert written["samples_of"] == 3000
    assert len(kept) > 800
    assert kept[0] == 0
    assert max(after - before for before, after in pairwise(kept)) <= 4


def test_a_full_disk_leaves_what_an_earlier_run_has_written(tmp_path):
    path = results.write("speed", "", {"ms": 1.5}, [], tmp_path / "speed.json")
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            results.write("speed", "", {"ms": 2.5}, [], path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before


def test_no_samples_are_valid_too(tmp_path):
    path = results.write("none", "", {}, [], tmp_path / "none.json")
    assert json.loads(path.read_text())["samples"] == []
