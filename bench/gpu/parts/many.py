"""Many gaps in the same steps: 64 sites against 64 requests, and 1 to 256 concurrent sessions."""

from collections.abc import Iterator

from bench.gpu.setting import Sample, Setting, clocked
from dlsp_engine.engine import Engine
from dlsp_engine.model.gpu.pool import PAGE
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap

SITES = 64
SESSIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def run(setting: Setting) -> Iterator[Sample]:
    name, sessions = "0.5b", SESSIONS[:3] if setting.rehearse else SESSIONS
    room = (setting.context + 3 * PAGE) // PAGE * (sessions[-1] + SITES)
    model = setting.model(name, pages=room)
    engine = setting.engine(name, model)
    yield from concurrent(setting, engine, sessions)
    yield from sites(setting, engine)


def concurrent(setting: Setting, engine: Engine, counts: tuple[int, ...]) -> Iterator[Sample]:
    """Sessions that decode in shared steps: milliseconds a step, what the host does included, and tokens of all."""
    gap = Gap("x = 1\n" * (setting.context // 6), "\n")
    session = engine.prefilled(gap)
    for mode in ("autoregressive", "verified"):
        options = Options(mode=mode, max_tokens=8 if setting.rehearse or setting.warm else 48, copy=False)
        for count in counts:

            def steps(count: int = count, options: Options = options) -> tuple[int, int]:
                requests = [engine.request(gap, options, session.copy()) for _ in range(count)]
                taken = 0
                while left := [request for request in requests if not request.done]:
                    engine.step(left)
                    taken += 1
                return taken, sum(request.cost.tokens for request in requests)

            steps()  # captures what it needs
            setting.heat()
            found: list[tuple[int, int]] = []
            seconds = clocked(lambda steps=steps, found=found: found.append(steps()))
            (taken, tokens), name = found[0], f"{count} sessions, {mode}"
            sample = {"name": name, "sessions": count, "ms": 1e3 * seconds / taken, "tokens_s": tokens / seconds}
            yield sample | {"real_weights": setting.is_real("0.5b")}


def sites(setting: Setting, engine: Engine) -> Iterator[Sample]:
    """Gaps of 16 tokens in one file: all in one batch, and one request after the other; prompts are cached in both."""
    lead = "def total(rows):\n    return sum(row.price * row.count for row in rows)\n\n"
    count = 4 if setting.rehearse else SITES
    gaps = [Gap(lead * (setting.context // len(lead)), f"\n{n}\n") for n in range(count)]
    for mode in ("autoregressive", "verified"):
        options = Options(mode=mode, max_tokens=16, copy=False)

        def batch(options: Options = options) -> None:
            requests = [engine.request(gap, options, session) for gap, session in zip(gaps, prompts(), strict=True)]
            while left := [request for request in requests if not request.done]:
                engine.step(left)

        def singly(options: Options = options) -> None:
            for gap, session in zip(gaps, prompts(), strict=True):
                engine.fill(gap, options, session)

        first = [engine.prefilled(gap) for gap in gaps]

        def prompts(first: list = first) -> list:
            return [session.copy() for session in first]

        for run in (batch, singly):
            run()  # captures what it needs
        setting.heat()
        together, alone = ([clocked(run) for _ in range(3)] for run in (batch, singly))
        ratio = sorted(together)[1] / sorted(alone)[1]
        sample = {"name": f"{count} sites, {mode}", "batch_ms": 1e3 * sorted(together)[1]}
        yield sample | {"singly_ms": 1e3 * sorted(alone)[1], "of_requests": ratio}
