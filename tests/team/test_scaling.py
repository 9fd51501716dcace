"""Replicas that come and go, and a model that is replaced, while users type: no request fails."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dlsp.team import application
from dlsp.team.config import ServedModel
from tests.team.conftest import DONE, Typing, serving, wait_for

pytestmark = [pytest.mark.prove, pytest.mark.timeout(300)]


def assert_all_answered(typing: Typing) -> None:
    assert typing.failures == []
    assert [each for each in typing.ended if each.last != DONE] == []


def test_from_one_replica_to_two_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setattr(application, "UPSCALE_S", 1.0)
    monkeypatch.setattr(application, "DOWNSCALE_S", 2.0)
    with serving(tmp_path, ServedModel("0.5b", 1, 2, ongoing=2)) as server, server.typing(1, "few") as few:
        with server.typing(8, "many") as many:
            up_s = wait_for(lambda: server.replicas() == 2, 120)
            wait_for(lambda: len({each["replica"] for each in server.audit() if each["replica"]}) > 1)
        down_s = wait_for(lambda: server.replicas() == 1, 120)
        before = len(few.ended)
        wait_for(lambda: len(few.ended) > before + 20)
    record_property("up_s", round(up_s, 1))
    record_property("down_s", round(down_s, 1))
    record_property("requests", len(few.ended) + len(many.ended))
    assert_all_answered(few)
    assert_all_answered(many)


def test_a_model_is_replaced(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with serving(tmp_path, ServedModel("0.5b")) as server, server.typing(4) as typing:
        wait_for(lambda: len(typing.ended) > 20)
        first = server.pid()
        server.running.change(replace(server.config, models=(ServedModel("0.5b", threads=2),)))
        assert server.pid() != first, "another replica, of other settings"
        second = server.pid()
        server.running.change(replace(server.config, models=(ServedModel("1.5b"), ServedModel("0.5b", threads=2))))
        wait_for(lambda: server.health()["model"] == "1.5b")
        server.running.change(replace(server.config, models=(ServedModel("1.5b"),)))
        third = server.health()
        assert (third["model"], third["pid"] != second) == ("1.5b", True)
        before = len(typing.ended)
        wait_for(lambda: len(typing.ended) > before + 20)
    record_property("requests", len(typing.ended))
    assert_all_answered(typing)
