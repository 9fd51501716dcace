"""What a step costs is measured once a machine."""

import json

import pytest
import torch

from dlsp_engine import costs
from dlsp_engine.backend import CpuBackend


@pytest.fixture
def counted(monkeypatch):
    calls, real = [], costs.measure

    def measure(model):
        calls.append(model)
        return real(model)

    monkeypatch.setattr(costs, "measure", measure)
    monkeypatch.setattr(costs, "TURNS", 4)
    monkeypatch.setattr(costs, "MAX_TIME_SHARE", 0)  # steps of a tiny model are too short to be compared
    monkeypatch.setattr(costs.Load, "was_shared", lambda *_: False)  # tests may run beside each other
    return calls


def test_measured_costs_are_times(tiny, counted):
    measured = costs.measure(tiny.model)
    assert measured.rows == costs.TIMED_ROWS
    assert all(ms > 0 for ms in measured.milliseconds)
    assert measured(128) > measured(1) > 0
    assert measured.canvas >= 0
    assert measured.canvas_row >= 0
    assert measured.row_key > 0, "attention to a longer context takes longer"


@pytest.mark.parametrize(("alone", "chosen"), [(12.4, 1), (12.6, 2)])
def test_the_fewest_threads_that_are_worth_it(alone: float, chosen: int):
    times = {costs.StepKind(1, 0, 1): alone, costs.StepKind(1, 0, 2): 10.5, costs.StepKind(1, 0, 4): 10.0}
    assert costs._fewest_threads(times).threads == chosen


def test_narrow_steps_are_tried_with_fewer_threads(tiny):
    torch.set_num_threads(4)
    measured = costs.measure(tiny.model)
    assert torch.get_num_threads() == 4
    assert measured.threads_for(128) == measured.threads_for(17) == 4
    assert set(measured.threads[:4]) <= {1, 2, 4}
    assert costs.Costs().threads_for(1) is None


def test_a_machine_measures_once(tiny, counted, tmp_path):
    path = tmp_path / "costs.json"
    first = costs.remembered(tiny.model, "tiny float32", path)
    assert costs.remembered(tiny.model, "tiny float32", path) == first
    assert len(counted) == 1
    costs.remembered(tiny.model, "tiny int8", path)
    assert len(counted) == 2
    assert costs.remembered(tiny.model, "tiny float32", path) == first
    assert len(counted) == 2


def test_another_machine_measures_anew(tiny, counted, tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    costs.remembered(tiny.model, "tiny float32", path)
    monkeypatch.setattr(costs, "machine", lambda: {"processor": "another one", "capability": "AVX512"})
    costs.remembered(tiny.model, "tiny float32", path)
    assert len(counted) == 2


@pytest.mark.parametrize("text", ["", "[]", "3", '{"tiny float32": 3}', '{"tiny float32": {"machine": 1}}'])
def test_a_damaged_file_is_measured_anew(tiny, counted, tmp_path, text):
    path = tmp_path / "costs.json"
    key = f"tiny float32 {costs.machine()['capability']} {torch.get_num_threads()} threads"
    path.write_text(text.replace("tiny float32", key))
    costs.remembered(tiny.model, "tiny float32", path)
    assert len(counted) == 1
    assert costs.remembered(tiny.model, "tiny float32", path)
    assert len(counted) == 1


def test_what_was_measured_on_a_busy_machine_is_measured_anew(tiny, counted, tmp_path, monkeypatch):
    """Beside another program it is all threads together that are slow."""
    path, at = tmp_path / "costs.json", costs.TIMED_ROWS.index(costs.CHECKED_ROWS)
    costs.remembered(tiny.model, "tiny float32", path)
    known = json.loads(path.read_text())
    (entry,) = known.values()
    times = entry["costs"]["milliseconds"]
    times[at] *= 100
    path.write_text(json.dumps(known))
    monkeypatch.setattr(costs, "MAX_TIME_SHARE", 0.1)
    assert costs.remembered(tiny.model, "tiny float32", path)(costs.CHECKED_ROWS) < times[at] / 2
    assert len(counted) == 2


@pytest.mark.parametrize(
    ("every", "idle", "own", "shared"),
    [
        (20.0, 1.0, 18.0, False),
        (20.0, 0.5, 10.0, True),
        (20.0, 9.0, 6.0, False),
        (640.0, 300.0, 20.0, False),
        (0, 0, 0, False),
    ],
    ids=["alone", "beside a program on all processors", "beside a small one", "on a large machine", "no time at all"],
)
def test_whether_other_programs_were_in_the_way(every: float, idle: float, own: float, shared: bool):
    before = costs.Load(100.0, 50.0, 7.0)
    assert costs.Load(100.0 + every, 50.0 + idle, 7.0 + own).was_shared(before) is shared


def test_a_busy_measurement_is_noted_and_made_again(tiny, counted, tmp_path, monkeypatch):
    path = tmp_path / "costs.json"
    monkeypatch.setattr(costs.Load, "was_shared", lambda *_: True)
    costs.remembered(tiny.model, "tiny float32", path)
    assert [entry["busy"] for entry in json.loads(path.read_text()).values()] == [True]
    monkeypatch.setattr(costs.Load, "was_shared", lambda *_: False)
    costs.remembered(tiny.model, "tiny float32", path)
    assert len(counted) == 2
    assert [entry["busy"] for entry in json.loads(path.read_text()).values()] == [False]
    costs.remembered(tiny.model, "tiny float32", path)
    assert len(counted) == 2


def test_the_first_two_steps_of_a_shape_do_not_count(tiny, monkeypatch):
    """The first warms up, the second may be captured: of wide ones, too, and where remembered costs are checked."""
    clock, seen = [0.0], dict[tuple[int, int], int]()

    def step(model, cache, clean, canvas):
        seen[clean, canvas] = seen.get((clean, canvas), 0) + 1
        clock[0] += 1.0 if seen[clean, canvas] <= 2 else 0.01

    monkeypatch.setattr(costs, "_step", step)
    monkeypatch.setattr(costs.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(costs, "TURNS", 1)
    measured = costs.measure(tiny.model)
    assert measured.milliseconds == pytest.approx([10.0] * len(costs.TIMED_ROWS))
    seen.clear()
    assert costs._measured_busy(tiny.model, costs.Costs((1, 128), (100.0, 100.0), threads=(1, 1)))


def test_the_widest_step_is_measured_too_where_it_is_wider(tiny, monkeypatch):
    monkeypatch.setattr(costs, "_step", lambda *_: None)
    monkeypatch.setattr(CpuBackend, "most_rows", 512)
    assert costs.measure(tiny.model).rows == (*costs.TIMED_ROWS, 512)


def test_good_seconds_of_the_memory_do_not_count(tiny, monkeypatch):
    """One row in a moment when memory was quick, four in one when it was not."""
    clock, taken = [0.0], iter(range(10_000))

    def step(model, cache, clean, canvas):
        ms = 10 + (clean + canvas) / 4 + (0 if next(taken) % 7 else -6)
        clock[0] += ms / 1e3

    monkeypatch.setattr(costs, "_step", step)
    monkeypatch.setattr(costs.time, "perf_counter", lambda: clock[0])
    measured = costs.measure(tiny.model)
    assert [measured(rows) for rows in (1, 4, 8, 16)] == pytest.approx([10.25, 11, 12, 14])
    assert (measured.canvas, measured.canvas_row) == (pytest.approx(0), pytest.approx(0))


def test_what_another_engine_measured_meanwhile_stays(tiny, tmp_path, monkeypatch):
    path, real = tmp_path / "costs.json", costs.measure
    monkeypatch.setattr(costs, "TURNS", 1)

    def measure(model):
        path.write_text('{"large": 3}')
        return real(model)

    monkeypatch.setattr(costs, "measure", measure)
    costs.remembered(tiny.model, "tiny float32", path)
    assert json.loads(path.read_text()).keys() > {"large"}


def test_a_folder_that_cannot_be_written_is_no_error(tiny, counted, tmp_path):
    assert costs.remembered(tiny.model, "tiny float32", tmp_path / "missing" / "costs.json").rows == costs.TIMED_ROWS


def test_the_faster_dense_type_is_one_of_two():
    assert costs.faster_dense() in ("bfloat16", "float32")
