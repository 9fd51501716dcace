"""Asking the engine for every fill that is not there yet."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from bench.journal import Journal
from bench.quality.sets import Task

if TYPE_CHECKING:
    from bench.quality.known import Known
    from bench.quality.steered import Steered
    from dlsp_engine import Engine, Fill, Options


@dataclass(frozen=True)
class Filled:
    """A gap's text as the engine gave it and what it cost; `commit` is that of the code that filled it."""

    text: str
    reason: str = "end"
    forwards: int = 0
    rows: int = 0
    tokens: int = 0
    commit: str = ""


def key(task: Task, options: "Options") -> str:
    """Under what a fill is kept: the task and all options."""
    described = json.dumps(asdict(options), sort_keys=True)
    return f"{task.id} {digest(described)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def missing(
    tasks: Sequence[Task], variants: Mapping[str, "Options"], journal: Journal
) -> dict[tuple[str, ...], list[Task]]:
    """The tasks that lack fills, by the variants that they lack."""
    groups: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    for task in tasks:
        if lacking := tuple(name for name in variants if key(task, variants[name]) not in journal.entries):
            groups[lacking].append(task)
    return groups


def fill(
    engine: "Engine",
    groups: Mapping[tuple[str, ...], Sequence[Task]],
    variants: Mapping[str, "Options"],
    journal: Journal,
    commit: str,
    advance: Callable[[], None],
) -> None:
    """Fill what is `missing`; the journal has each fill as soon as it is finished."""
    for names, tasks in groups.items():
        for task, name, done in _fills(engine, tasks, {name: variants[name] for name in names}):
            cost = done.cost
            filled = Filled(done.text, done.reason, cost.forwards, cost.rows, cost.tokens, commit)
            journal.add(key(task, variants[name]), asdict(filled))
            advance()


def _fills(
    engine: "Engine", tasks: Sequence[Task], variants: Mapping[str, "Options"]
) -> Iterator[tuple[Task, str, "Fill"]]:
    from dlsp_engine import Gap

    known, steered = (
        {name: options for name, options in variants.items() if hasattr(options, what)} for what in ("known", "steer")
    )
    others = {name: options for name, options in variants.items() if name not in known | steered}
    if others:
        gaps = [Gap(prefix=task.prefix, suffix=task.suffix, path=task.path) for task in tasks]
        for gap, variant, done in engine.fill_many(gaps, list(others.values())):
            yield tasks[gap], list(others)[variant], done
    if known:
        from bench.quality.known import fill_known

        yield from fill_known(engine, tasks, cast("dict[str, Known]", known))
    if steered:
        from bench.quality.steered import fill_steered

        yield from fill_steered(engine, tasks, cast("dict[str, Steered]", steered))


def found(tasks: Sequence[Task], options: "Options", journal: Journal) -> list[Filled]:
    """The fills of one variant in the order of the tasks; all must be there."""
    entries: list[dict[str, Any]] = [journal.entries[key(task, options)] for task in tasks]
    return [Filled(**entry) for entry in entries]
