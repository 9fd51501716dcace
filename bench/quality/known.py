"""Diffusion at known gap length: the canvas has exactly the tokens of the text that was taken out.

No editor knows this; it shows what an unknown length costs a diffusion model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.quality.sets import Task
from dlsp_engine import Options

if TYPE_CHECKING:
    from dlsp_engine import Engine
    from dlsp_engine.decode.scores import Scores

# Masks that a canvas may have; of a longer text only so many are known.
LONGEST = 64


@dataclass(frozen=True)
class Known(Options):
    """Options of a diffusion variant that is told the length of each gap."""

    known: bool = True


def fill_known(
    engine: "Engine", tasks: Sequence[Task], variants: Mapping[str, Known]
) -> Iterator[tuple[Task, str, Any]]:
    """(task, variant, fill), a task's variants in shared steps."""
    from dlsp_engine import Gap

    session = engine.new_session()
    for task in tasks:
        gap = Gap(task.prefix, task.suffix, path=task.path)
        session = engine.prefilled(gap, session)
        length = max(1, min(LONGEST, len(engine.tokenizer.encode(task.canonical))))
        requests = {}
        for name, options in variants.items():
            request = engine.request(gap, replace(options, canvas=length, max_tokens=length), session.copy())
            _tell_length(request.decoder, length, sorted(engine.tokenizer.stops))
            requests[name] = request
        while running := [request for request in requests.values() if not request.done]:
            engine.step(running)
        for name, request in requests.items():
            yield task, name, request.outcome()


def _tell_length(decoder: Any, length: int, stops: list[int]) -> None:
    """No end token for this diffusion decoder, and no masks beyond the last position."""
    take = decoder.take

    def told(scores: "Scores") -> None:
        logits = scores.logits.clone()
        logits[:, stops] = -float("inf")
        take(type(scores)(logits))
        del decoder.slots[max(0, length - len(decoder.answer.tokens)) :]

    decoder.take = told
