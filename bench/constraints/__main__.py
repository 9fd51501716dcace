"""What constraints cost a step, and how many tokens a step commits with them: `python -m bench.constraints`.

Each case is a chat that the real model answers: freely and under its constraint, by turns, from copies of one prefilled
session. Then the text under the constraint is decoded once more without it, every choice of the model replaced by the
text's next token: so tau with and without the constraint is that of the same texts. Times are processor time of the
thread of the steps, which other programs on the machine hardly change: that of a whole step, that of what a step does
beside the forward pass, and that of what is done for the constraint alone.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.command import DTYPES, at_least, guarded, line, loaded, written
from bench.constraints.cases import Case, cases
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Engine, Fill

MODES = ("autoregressive", "verified")
WAYS = FREE, BOUND, TOLD = "free", "bound", "told"
SYSTEM = "Answer briefly."


@dataclass
class Run:
    """One answer: processor milliseconds of each decoding step, of what it does beside the forward pass, and of what it
    does for the constraint alone.
    """

    steps: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    constraint: list[float] = field(default_factory=list)
    fill: "Fill | None" = None


class Meter:
    """Adds up the milliseconds that what only constraints call takes."""

    def __init__(self) -> None:
        from dlsp_engine.decode import answer, grammar, verify

        self.spent = 0.0
        self._within = False
        for name in ("allowed", "advance", "rollback", "valid", "forced"):
            setattr(grammar.Match, name, self._timed(getattr(grammar.Match, name)))
        verify.masked = self._timed(verify.masked)
        answer.Answer._constrain = self._timed(answer.Answer._constrain)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if self._within:
                return function(*given)
            began, self._within = time.thread_time(), True
            try:
                return function(*given)
            finally:
                self._within = False
                self.spent += 1e3 * (time.thread_time() - began)

        return call


def answered(engine: "Engine", request: Any, meter: Meter) -> Run:
    """Run a request whose prompt is prefilled."""
    run = Run()
    take = request.take

    def timed(*given: Any) -> None:
        began = time.thread_time()
        take(*given)
        run.beside.append(1e3 * (time.thread_time() - began))

    request.take = timed
    while not request.done:
        began, meter.spent = time.thread_time(), 0.0
        engine.step([request])
        run.steps.append(1e3 * (time.thread_time() - began))
        run.constraint.append(meter.spent)
    run.fill = request.outcome()
    return run


def tell(request: Any, tokens: Sequence[int]) -> None:
    """Let each row of a request choose the token that `tokens`, the answer, has there."""
    answer = request.answer

    def chosen(logits: Any, draft: list[int], first: int = 0) -> list[int]:
        at = len(answer.tokens) + first
        known = list(tokens[at : at + len(logits)])
        return known + [tokens[-1]] * (len(logits) - len(known))

    answer.next_tokens = chosen


def measured(engine: "Engine", case: Case, tokens: int, repeats: int, meter: Meter) -> dict[str, Run]:
    """By `mode/free` and `mode/bound`: an answer, its times those of all repetitions. And by `mode/told`: that of
    `mode/bound` without its constraint.
    """
    from dlsp_engine import Options
    from dlsp_engine.text.chat import Generation

    assert engine.chat, "the model has a chat template"
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": case.question}]
    asked, grammar = Generation(engine.chat.parts(messages, [])), engine.grammars(case.constraint)
    session = engine.new_session(published=True)
    known = engine.prompt(asked).tokens
    session.advance(known)
    while rows := session.prefill():
        engine.model.forward([(session.cache, rows)])
        session.extend([], len(rows))
    runs: dict[str, Run] = {}
    for repeat in range(repeats):
        for mode in MODES:
            for way in (FREE, BOUND)[:: 1 if repeat % 2 else -1]:
                options = Options(mode=mode, max_tokens=tokens, constraint=grammar if way == BOUND else None)
                run = answered(engine, engine.generation_request(asked, options, session.copy()), meter)
                before = runs.setdefault(f"{mode}/{way}", run)
                if before is not run:
                    before.steps += run.steps
                    before.beside += run.beside
                    before.constraint += run.constraint
    for mode in MODES:
        if (bound := runs[f"{mode}/{BOUND}"].fill) and bound.tokens:
            options = Options(mode=mode, max_tokens=len(bound.tokens))
            request = engine.generation_request(asked, options, session.copy())
            tell(request, bound.tokens)
            runs[f"{mode}/{TOLD}"] = answered(engine, request, meter)
    return runs


def compile_ms(engine: "Engine", case: Case) -> dict[str, float]:
    """Milliseconds until a constraint is compiled that was never asked for, and those of its second compilation, which
    needs no check, both by the clock.
    """
    from dlsp_engine.decode.grammar import Grammar

    began = time.perf_counter()
    grammar = engine.grammars(case.constraint)
    assert isinstance(grammar, Grammar), "it is of one kind"
    first = time.perf_counter()
    Grammar(grammar.source, grammar.tokenizer, grammar.stops)
    return {"asked": 1e3 * (first - began), "compiled": 1e3 * (time.perf_counter() - first)}


def summary(found: dict[Case, dict[str, Run]]) -> dict[str, float]:
    """By mode and kind of constraint: what a step does for the constraint, in milliseconds and as a share of the step;
    what an answer takes beside the forward pass by token, free and bound; and tau, over all answers, and over the
    texts of the bound ones, decoded with and without the constraint.
    """
    metrics: dict[str, float] = {}
    for mode in MODES:
        for kind in dict.fromkeys(case.kind for case in found):
            name, own = f"{mode}/{kind}", [runs for case, runs in found.items() if case.kind == kind]
            bound = [runs[f"{mode}/{BOUND}"] for runs in own]
            spent = [ms for run in bound for ms in run.constraint]
            shares = [ms / step for run in bound for ms, step in zip(run.constraint, run.steps, strict=True)]
            for at in (50, 95):
                metrics[f"{name}/constraint_ms_p{at}"] = percentile(spent, at)
                metrics[f"{name}/constraint_share_of_step_p{at}"] = percentile(shares, at)
            for way in (FREE, BOUND):
                runs_of = [runs[f"{mode}/{way}"] for runs in own]
                repeats = len(runs_of[0].steps) / runs_of[0].fill.cost.forwards if runs_of[0].fill else 1
                tokens = repeats * sum(run.fill.cost.tokens for run in runs_of if run.fill)
                metrics[f"{name}/beside_ms_per_token/{way}"] = sum(ms for run in runs_of for ms in run.beside) / tokens
            metrics[f"{name}/answers"] = len(own)
            metrics |= {f"{name}/tau/{way}": tau([runs.get(f"{mode}/{way}") for runs in own]) for way in WAYS}
            metrics[f"{name}/tau/bound_to_told"] = metrics[f"{name}/tau/{BOUND}"] / metrics[f"{name}/tau/{TOLD}"]
    return {name: round(value, 4) for name, value in metrics.items()}


def tau(runs: Sequence[Run | None]) -> float:
    """Tokens of the answers, end tokens left out, by forwards."""
    fills = [run.fill for run in runs if run and run.fill]
    return sum(len(fill.tokens) for fill in fills) / max(1, sum(fill.cost.forwards for fill in fills))


def percentile(values: Sequence[float], at: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * at // 100)]


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.constraints", description="What constraints cost and gain.")
    parser.add_argument("--tokens", type=at_least(1), default=96, help="of an answer, at most")
    parser.add_argument("--repeats", type=at_least(1), default=2)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    engine = loaded(model, asked.dtype)
    meter, began = Meter(), time.perf_counter()
    engine.grammars({"choices": ["warm"]})
    metrics = {"first_constraint_ms": round(1e3 * (time.perf_counter() - began), 1)}
    compiled = {case: compile_ms(engine, case) for case in cases()}
    for name in ("asked", "compiled"):
        times = [times[name] for times in compiled.values()]
        metrics |= {f"{name}_ms_median": round(statistics.median(times), 1), f"{name}_ms_max": round(max(times), 1)}
    found = {case: measured(engine, case, asked.tokens, asked.repeats, meter) for case in compiled}
    metrics |= summary(found)
    for name, value in metrics.items():
        print(f"{name}: {value}")
    samples = [
        {"case": case.name} | {name: [run.fill.text, run.fill.reason, run.fill.cost.forwards, run.fill.cost.tokens]}
        for case, runs in found.items()
        for name, run in runs.items()
        if run.fill
    ]
    return written(f"constraints-{model.name}-{asked.dtype}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
