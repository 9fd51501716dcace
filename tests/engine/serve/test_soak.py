"""A sample of the soak (`make prove PART=soak`) against a tiny model: every request ends in an answer or a reason, and
nothing of it is left. And the soak itself says so where it does not.
"""

import gc
import re

import pytest

from bench import traffic
from bench.traffic import Ask, Ended
from dlsp_engine.model.cache import living_bytes
from dlsp_engine.serve.app import Service
from dlsp_engine.text.chat import Chat
from tests.engine.serve.conftest import SlowEngine, asking_together
from tests.engine.serve.test_generate import TEMPLATE


async def test_mixed_traffic_leaves_no_request_unanswered_and_nothing_behind(
    served: str, service: Service, engine: SlowEngine
):
    engine.step_s = 0.0
    engine.chat = Chat(TEMPLATE, engine.tokenizer.added)
    service.scheduler.sessions.most_bytes = most = engine.new_session().cache.bytes_of(20_000)
    whole = traffic.traffic(seed=3, hours=1)
    asks = {client: each[:20] for client, each in whole.items() if client in traffic.EDITORS}
    asks |= {"agent": whole["agent"][:2], "chat": whole["chat"][:6]}
    bad = [ask for each in whole.values() for ask in each if ask.kind.startswith(("left", "malformed", "too long"))]
    asks["bad"] = [
        Ask(ask.kind, ask.path, re.sub(rb'"client": "[a-z ]+"', b'"client": "bad"', ask.body), ask.leave_s)
        for ask in bad[::12]
    ]
    gc.collect()
    before = living_bytes()
    async with asking_together(served) as http:
        ended = await traffic.replay(asks, http)
    assert [one for one in ended if one.how == "lost"] == []
    assert {"done", "refused", "left", "error"} <= {one.how for one in ended}
    assert all(one.how == "done" for one in ended if one.kind in ("typing", "gaps", "chat", "body"))
    assert not service.scheduler.busy
    assert service.scheduler.sessions.bytes <= most
    gc.collect()
    assert living_bytes() - before <= most


def test_the_same_seed_is_the_same_traffic_and_some_of_it_is_bad():
    first, again = (traffic.traffic(seed=1, hours=2) for _ in range(2))
    assert first == again
    asks = [ask for each in first.values() for ask in each]
    assert len(asks) > 5000
    for kind, share in (("left", 0.05), ("malformed", 0.01), ("too long", 0.01)):
        assert sum(ask.kind.startswith(kind) for ask in asks) / len(asks) == pytest.approx(share, rel=0.35)


def ended(slow: float = 1.0, how: str = "done") -> list[Ended]:
    return [
        Ended("editor one", "typing", how if n == 150 else "done", n, 10 * (slow if n > 100 else 1)) for n in range(200)
    ]


def test_the_soak_says_what_is_wrong():
    flat, grown = [(100.0, 150.0)] * 40, [(100.0, 150.0)] * 20 + [(104.0, 150.0)] * 20
    assert traffic.broken(traffic.summary(ended(), flat)) == []
    assert "memory" in traffic.broken(traffic.summary(ended(), grown))[0]
    assert "percentile" in traffic.broken(traffic.summary(ended(1.5), flat))[0]
    assert "1 requests ended" in traffic.broken(traffic.summary(ended(how="lost"), flat))[0]
