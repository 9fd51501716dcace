"""What Python takes of a step while the answer is a string of lines without indentation: `python -m bench.long_string`.

Each such line could be the end of a function's body, if it were no string. The prompt has a function with the same
string, which the model writes again; copied drafts make it quick. Python's part is all that a step does but the model's
forward pass and its head: planning rows, choosing and committing tokens, looking for the end. It is given as processor
time of the thread, which other programs do not change.
"""

import argparse
import statistics
import sys
import time
from typing import TYPE_CHECKING

from bench.command import DTYPES, guarded, line, loaded, written
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Engine

MAX_TOKENS = 4096


def python_ms(engine: "Engine", lines: int) -> list[tuple[int, float]]:
    """For each step of one answer: how many lines the answer had, and milliseconds of Python."""
    from dlsp_engine import Gap, Options

    text = "".join(f"{number % 7}\n" for number in range(lines + 20))
    gap = Gap(f'def one():\n    text = """\n{text}"""\n    return text\n\n\ndef two():\n    text = ', "\n", path="a.py")
    request = engine.request(gap, Options(end="body", max_tokens=MAX_TOKENS))
    found: list[tuple[int, float]] = []
    while not request.done and request.answer.text.count("\n") < lines:
        began = time.thread_time()
        step = request.plan(128, 1)
        planned = time.thread_time()
        (result,) = engine.backend.step([step])
        stepped = time.thread_time()
        request.take(step, result)
        found.append((request.answer.text.count("\n"), 1e3 * (time.thread_time() - stepped + planned - began)))
    return found


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.long_string", description="Python per step in a long string.")
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    steps = python_ms(loaded(model, asked.dtype), asked.lines)
    first, last = ([ms for at, ms in steps if low <= at < high] for low, high in ((1, 50), (asked.lines - 50, 10**9)))
    metrics = {"lines": steps[-1][0], "steps": len(steps)}
    for name, of in (("first_50_lines", first), ("last_50_lines", last), ("all", [ms for _, ms in steps])):
        if of:
            metrics |= {f"{name}/python_ms/median": statistics.median(of), f"{name}/python_ms/max": max(of)}
    metrics = {name: round(value, 3) for name, value in metrics.items()}
    print(metrics)
    samples = [{"lines": at, "python_ms": round(ms, 3)} for at, ms in steps]
    return written(f"long-string-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
