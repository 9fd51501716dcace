"""What a job says that it took."""

import time

from dlsp_engine import Engine, Gap, Options


def test_the_time_of_drafting_is_part_of_the_decoding(tiny: Engine):
    """It is what `verified` pays for its fewer steps."""
    asked: list[int] = []

    def slow(tokens: list[int]) -> tuple[list[int], list[float]]:
        asked.append(len(tokens))
        time.sleep(0.02)
        return [], []

    fill = tiny.fill(Gap("def f(x):\n    ret", "\n"), Options(max_tokens=4), drafter=slow)
    while_decoding = asked[1:]  # the first is asked before the prompt is read
    assert fill.cost.decode_ms >= 20 * len(while_decoding) > 0
