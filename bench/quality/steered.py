"""Fills as the setting `steer` has them: names that stand in the text around the gap, balanced code, or both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.quality.sets import Task
from dlsp.completions import steering
from dlsp.context.parts import Context, Part
from dlsp_engine import Options

if TYPE_CHECKING:
    from dlsp_engine import Engine

PATH = "gap.py"  # of tasks in Python, which tell the model no path


@dataclass(frozen=True)
class Steered(Options):
    """Options of a variant with a value of `steer`."""

    steer: str = "off"


def fill_steered(
    engine: "Engine", tasks: Sequence[Task], variants: Mapping[str, Steered]
) -> Iterator[tuple[Task, str, Any]]:
    """(task, variant, fill), a task's variants behind one prefill."""
    from dlsp_engine import Gap

    session = engine.new_session()
    for task in tasks:
        gap, path = Gap(task.prefix, task.suffix, path=task.path), task.path or PATH
        session = engine.prefilled(gap, session)
        seen = Context((), (Part(path, 0, task.prefix, ""),), Part(path, 0, task.suffix, ""))
        for name, options in variants.items():
            wanted = steering.constraint(options.steer, seen, path)
            bound = replace(options, constraint=engine.grammars(wanted) if wanted else None)
            yield task, name, engine.fill(gap, bound, session.copy())
