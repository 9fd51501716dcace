"""Fills each gap autoregressively, then verified under every draft and schedule, and compares tokens."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.identity.drafts import DRAFTS, LENGTH
from dlsp_engine import Engine, Gap, Options
from dlsp_engine.decode.session import Session, common
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.rows import Rows
from dlsp_engine.request import GapRequest

TIE = 1e-4
TOGETHER = 4
SCHEDULES = ("split", "merged")


@dataclass(frozen=True)
class Comparison:
    """`outcome` is `identical`, `tie` or `different`."""

    gap: int
    draft: str
    schedule: str
    outcome: str
    tau: float


def prove(engine: Engine, gaps: Sequence[tuple[Gap, Options]]) -> Iterator[Comparison]:
    """len(gaps) x drafts x schedules comparisons, gap by gap.

    In float32 the fills of TOGETHER gaps run packed in the same steps, which the answers must not notice either. In
    int8 each runs alone, as one person's do. Its adapter is part of its matrices, so a corrupted one is left out.
    """
    model = engine.model
    if isinstance(model, Qwen2):
        noise = Adapter.random(model.shape, rank=8, scale=0.3)
        corrupted, together = Engine(Qwen2(model.weights, noise), engine.tokenizer), TOGETHER
    else:
        corrupted, together = None, 1
    for first in range(0, len(gaps), together):
        chosen = list(enumerate(gaps))[first : first + together]
        references = {number: engine.request(gap, options) for number, (gap, options) in chosen}
        _finish(engine, list(references.values()))
        requests: dict[GapRequest, tuple[int, str, str]] = {}
        for number, (gap, options) in chosen:
            for name in (name for name, draft in DRAFTS.items() if corrupted or not draft.corrupted):
                for schedule in SCHEDULES:
                    requests[_drafted(engine, gap, options, references[number], name, schedule)] = (
                        number,
                        name,
                        schedule,
                    )
        if corrupted:
            _finish(engine, [request for request, (_, name, _) in requests.items() if not DRAFTS[name].corrupted])
            _finish(corrupted, [request for request, (_, name, _) in requests.items() if DRAFTS[name].corrupted])
        else:
            for request in requests:
                _finish(engine, [request])
        for request, (number, name, schedule) in requests.items():
            yield Comparison(number, name, schedule, _outcome(engine, references[number], request), request.cost.tau)


def _drafted(engine: Engine, gap: Gap, options: Options, reference: GapRequest, name: str, schedule: str) -> GapRequest:
    """The same gap, verified, from a copy of the reference's prompt."""
    draft, start = DRAFTS[name], reference.cost.prompt_tokens
    drafter = draft.make(reference.answer.tokens, start, engine.model.shape.vocab) if draft.make else None
    width = LENGTH if draft.canvas else 0
    wanted = replace(options, mode="verified", schedule=schedule, draft=width, copy=draft.copy)
    return engine.request(gap, wanted, _prompt_of(reference.session, start), drafter)


def _outcome(engine: Engine, reference: GapRequest, request: GapRequest) -> str:
    one, other = reference.outcome(), request.outcome()
    if (one.tokens, one.reason) == (other.tokens, other.reason):
        return "identical"
    prompt = reference.session.tokens[: reference.cost.prompt_tokens]
    return "tie" if _is_tie(engine, prompt, one.tokens, other.tokens) else "different"


def _finish(engine: Engine, requests: list[GapRequest]) -> None:
    while running := [request for request in requests if not request.done]:
        engine.step(running)


def _prompt_of(session: Session, length: int) -> Session:
    """A copy that holds the prompt alone."""
    twin = session.copy()
    twin.tokens = twin.tokens[:length]
    twin.cache.length = min(twin.cache.length, length - 1)
    return twin


def _is_tie(engine: Engine, prompt: list[int], one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether the autoregressive mode's two best tokens are equal up to rounding where the answers part."""
    same = common(one, other)
    session = engine.new_session()
    session.advance([*prompt, *one[:same]])
    while rows := session.prefill():
        engine.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
    last = Rows()
    last.add_clean(session.pending, session.cache.length)
    best = engine.model.head(engine.model.forward([(session.cache, last)]))[-1].topk(2).values
    return float(best[0] - best[1]) < TIE


def summary(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Counts of outcomes in all and by draft and schedule, and the mean tau of each."""
    metrics: dict[str, float] = {}
    groups = {"all": list(comparisons)}
    for one in comparisons:
        groups.setdefault(f"{one.draft}/{one.schedule}", []).append(one)
    for name, members in groups.items():
        count = Counter(member.outcome for member in members)
        for outcome in ("identical", "tie", "different"):
            metrics[f"{name}/{outcome}"] = count[outcome]
        metrics[f"{name}/tau"] = round(sum(member.tau for member in members) / len(members), 3)
    return metrics
