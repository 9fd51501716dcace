"""Known gap length: as many tokens as were taken out, no more, no fewer, and no end token among them."""

from bench.quality.fills import key
from bench.quality.known import Known, fill_known
from bench.quality.sets import Task
from bench.quality.variants import parse
from dlsp_engine import Options


def test_the_answer_has_the_length_of_what_was_taken_out(tiny):
    tasks = [Task(f"t/{n}", "f", "def f():\n", "\n", "x" * n, "") for n in (1, 5, 17)]
    variants = {str(t): Known(mode="diffusion", threshold=t, end="token") for t in (0.1, 0.9)}
    seen = 0
    for task, name, fill in fill_known(tiny, tasks, variants):
        assert len(fill.tokens) == len(task.canonical), name
        assert fill.reason == "length"
        seen += 1
    assert seen == 6


def test_no_more_masks_are_placed_than_positions_are_left(tiny, monkeypatch):
    widths = []
    step = tiny.step

    def watched(requests):
        widths.extend(
            len(request.decoder.canvas) + len(request.answer.tokens) for request in requests if request.decoder.canvas
        )
        return step(requests)

    monkeypatch.setattr(tiny, "step", watched)
    task = Task("t/0", "f", "def f():\n", "\n", "x" * 9, "")
    list(fill_known(tiny, [task], {"k": Known(mode="diffusion", threshold=0.5)}))
    assert set(widths) - {0} == {9}


def test_known_fills_are_kept_apart():
    task = Task("t/0", "f", "", "", "x", "")
    options = parse("diffusion:0.9:known")
    assert options.pop("known")
    assert key(task, Known(**options)) != key(task, Options(**options))
