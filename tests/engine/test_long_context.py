"""A prompt as long as the engine takes, on the real model in int8. It takes some ten minutes on two free cores."""

import sysconfig
import threading
import time
from pathlib import Path

import pytest

from dlsp import paths
from dlsp_engine import Engine, Gap, Options
from dlsp_engine.decode.answer import Fill
from dlsp_engine.serve.scheduler import MAX_PROMPT_TOKENS, Scheduler, Ticket
from dlsp_engine.shared_step import PREFILL_MS
from dlsp_engine.text.prompt import prompt

pytestmark = [pytest.mark.prove, pytest.mark.model, pytest.mark.timeout(4 * 3600)]

MOST_BYTES = 220_000_000
WAIT_S = 2 * 3600.0
TOLD = "def quixotic_zebra_count(herd):\n    return len(herd)\n\n\n"


def gap(engine: Engine, tokens: int, told: str) -> Gap:
    """A call after so many tokens of the standard library, whose first lines are `told`."""
    text, folder = told, Path(sysconfig.get_path("stdlib"))
    for path in sorted(folder.glob("*.py")):
        if len(text) > 6 * tokens:
            break
        text += path.read_text(encoding="utf-8", errors="replace")
    known = engine.tokenizer.encode(text)[: tokens - 40]
    return Gap(engine.tokenizer.decode(known) + "\n\nprint(quixotic_zebra_", ")\n", session="long")


def ended(scheduler: Scheduler, asked: Gap, options: Options) -> Fill:
    outcome: list[Fill | str] = []
    done = threading.Event()

    def on_end(one) -> None:
        outcome.append(one)
        done.set()

    scheduler.submit(Ticket(asked, options, 0, lambda request: None, on_end))
    assert done.wait(WAIT_S)
    (found,) = outcome
    assert isinstance(found, Fill), found
    return found


def test_32_768_tokens(gguf: Path):
    """They are read, answered alike in both modes, and stay warm; what is at their beginning is known at their end. A
    request that is cancelled in the middle ends within two steps.
    """
    engine = Engine.load(gguf, paths.cache_dir(), dtype="int8")
    scheduler = Scheduler(engine, kv_bytes=2 * MOST_BYTES)
    try:
        asked = gap(engine, MAX_PROMPT_TOKENS, TOLD)
        assert MAX_PROMPT_TOKENS - 64 < len(prompt(asked, engine.tokenizer).tokens) <= MAX_PROMPT_TOKENS
        first = ended(scheduler, asked, Options(mode="autoregressive", end="line", max_tokens=24))
        assert first.cost.cached_tokens == 0
        assert sum(session.cache.bytes for session in scheduler.sessions) <= MOST_BYTES
        again = ended(scheduler, asked, Options(mode="verified", end="line", max_tokens=24))
        assert again.cost.cached_tokens == again.cost.prompt_tokens - 1
        assert again.tokens == first.tokens
        assert again.text.startswith("count")  # `print(quixotic_zebra_count)` is whole, so the answer may end here
        _cancelled(scheduler, engine)
    finally:
        scheduler.close()
        scheduler.join()


def _cancelled(scheduler: Scheduler, engine: Engine) -> None:
    done = threading.Event()
    other = gap(engine, MAX_PROMPT_TOKENS, "# another\n" + TOLD)
    ticket = Ticket(other, Options(), 0, lambda request: None, lambda outcome: done.set())
    scheduler.submit(ticket)
    while ticket.request is None or ticket.request.rows_run < 2000:
        assert not done.is_set()
        time.sleep(0.01)
    rows, ended_at = ticket.request.rows_run, time.monotonic()
    request = ticket.request
    ticket.cancelled.set()
    assert done.wait(60)
    took = time.monotonic() - ended_at
    assert request.rows_run <= rows + 2 * 128
    assert took < 20 * PREFILL_MS / 1e3, "steps are bounded by time"
