"""pass@1 of a model on a few single-line gaps of HumanEval-Infilling, filled by its engine's process as an editor asks:
`python -m bench.pass_at_1 NAME`, which `dlsp model bench` runs.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence

from bench import results
from bench.command import at_least, guarded
from bench.journal import Journal
from bench.progress import progress
from bench.quality.score import judge, program
from bench.quality.sets import SETS, Missing, Task, load
from dlsp.doctor.trial import modes
from dlsp.engine import launch
from dlsp.models.added import find
from dlsp.models.catalogue import Model

SET = "single-line"


@guarded()
def main(arguments: list[str] | None = None) -> int:
    """0, also where there is no data to measure it by, which is said; 130 when stopped by Ctrl-C."""
    parser = argparse.ArgumentParser("python -m bench.pass_at_1", description=sys.modules[__name__].__doc__)
    parser.add_argument("model")
    parser.add_argument("--gaps", type=at_least(1), default=40)
    asked = parser.parse_args(arguments)
    model = find(asked.model)
    try:
        tasks = load(SET, asked.gaps)
    except Missing as error:
        print(f"{'pass@1':14} not measured: {str(error)[0].lower()}{str(error)[1:]}")
        return 0
    with progress("filling", len(tasks)) as advance:
        fills = asyncio.run(filled(model, tasks, advance))
    programs = [program(task, SETS[SET].text(task, fill)) for task, fill in zip(tasks, fills, strict=True)]
    verdicts = Journal(results.kept().parent / "verdicts.jsonl")
    with progress("running tests", len(programs)) as advance:
        ended = judge(programs, verdicts, advance)
    passed = sum(ended[one] == "passed" for one in programs)
    print(f"{'pass@1':14} {passed / len(tasks):.0%} of {len(tasks)} single lines of HumanEval-Infilling")
    return 0


async def filled(model: Model, tasks: Sequence[Task], advance: Callable[[], None]) -> list[str]:
    """The text of each gap."""
    texts: list[str] = []
    ends = {"end": SETS[SET].end, "max_tokens": SETS[SET].max_tokens}
    async with await launch.ensure(model) as engine:
        for task in tasks:
            gap = {"prefix": task.prefix, "suffix": task.suffix if model.fills else ""}
            texts.append((await engine.fill({"gaps": [gap], "mode": modes(model)[-1], **ends}))["text"])
            advance()
    return texts


if __name__ == "__main__":
    sys.exit(main())
