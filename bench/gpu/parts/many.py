"""Many gaps in the same steps: 64 sites against 64 requests, and 1 to 256 concurrent sessions."""

from collections.abc import Iterator

from bench.gpu.setting import Sample, Setting, clocked
from dlsp_engine.engine import Engine
from dlsp_engine.model.gpu.loop import GapState, Loop
from dlsp_engine.model.gpu.pool import PAGE
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap

SITES = 64
SESSIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def run(setting: Setting) -> Iterator[Sample]:
    name, sessions = "0.5b", SESSIONS[:3] if setting.rehearse else SESSIONS
    room = (setting.context + 3 * PAGE) // PAGE * (sessions[-1] + SITES)
    model = setting.model(name, pages=room)
    yield from concurrent(setting, Loop(model), sessions)
    yield from sites(setting, setting.engine(name, model))


def concurrent(setting: Setting, loop: Loop, counts: tuple[int, ...]) -> Iterator[Sample]:
    """Latency is a step's, the host's part included; `steps_s` are those of all sessions, each a token times tau."""
    for width in (0, 4):
        for count in counts:
            caches = [setting.cache(loop.model, setting.context) for _ in range(count)]
            states = [GapState(cache, 7) for cache in caches]

            def step(states: list[GapState] = states, width: int = width) -> None:
                step_results = loop.step(states, width)
                for state, one in zip(states, step_results, strict=True):
                    state.cache.length += len(one.tokens)
                states[:] = [
                    GapState(state.cache, one.tokens[-1], tuple(one.draft))
                    for state, one in zip(states, step_results, strict=True)
                ]

            for _ in range(3):
                step()
            setting.heat()
            times = sorted(clocked(step) for _ in range(2 if setting.rehearse or setting.warm else 20))
            ms = 1e3 * times[len(times) // 2]
            sample = {"name": f"{count} sessions, width {width}", "sessions": count, "width": width, "ms": ms}
            del caches, states, step  # their pages are wanted
            yield sample | {"steps_s": 1e3 * count / ms}


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
