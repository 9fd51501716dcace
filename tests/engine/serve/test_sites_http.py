"""`POST /v1/sites` over a real socket, on a tiny model."""

import json
import time

import httpx
import pytest

from dlsp_engine.serve.sites import parse_sites
from tests.engine.serve.conftest import SlowEngine, has_stopped

SITE = {"path": "c.py", "prefix": "x = 1\n", "suffix": "\n", "text": "area(1)"}
BODY = {
    "files": [{"path": "b.py", "text": "import a\n" * 9}],
    "edit": [{"path": "edit.diff", "text": "-area\n+size\n"}],
    "sites": [SITE, SITE | {"candidates": ["size(1)", "area(1)"], "prefix": ""}, SITE | {"propose": False}],
    "max_tokens": 5,
}


def test_an_event_for_each_site_then_done(client: httpx.Client):
    answer = client.post("/v1/sites", json=BODY)
    assert answer.status_code == 200, answer.text
    *told, last = [json.loads(line) for line in answer.text.splitlines() if line]
    assert last == {"event": "done"}
    sites = {event["site"]: event for event in told}
    assert sites.keys() == {0, 1, 2}
    for event in told:
        assert event["event"] == "site"
        assert event["text"]["tokens"] == 7
        assert event["text"]["with"] < 0
    assert sites[0]["proposal"]["reason"] == "length"
    assert sites[0]["proposal"].keys() == {"text", "reason", "with", "without", "tokens"}
    assert sites[1]["candidates"][1] == sites[1]["text"]
    assert sites[1]["candidates"][0]["without"] < 0
    assert sites[2]["proposal"] is None
    assert sites[2]["text"]["without"] is None
    cost = sites[1]["cost"]
    assert cost["tau"] == pytest.approx(cost["tokens"] / cost["forwards"], abs=1e-3)


def prefilled(client: httpx.Client, **changed) -> int:
    """Tokens of the prompts of a request with one site that were not cached."""
    site = SITE | {"candidates": ["size(1)"], "propose": False, "prefix": "a"}
    answer = client.post("/v1/sites", json=BODY | {"sites": [site]} | changed)
    cost = json.loads(answer.text.lstrip().splitlines()[0])["cost"]
    return cost["prompt_tokens"] - cost["cached_tokens"]


def test_the_next_request_finds_what_the_last_one_prefilled(client: httpx.Client):
    first = prefilled(client)
    files, edit = len(BODY["files"][0]["text"]), len(BODY["edit"][0]["text"])
    other_edit = prefilled(client, edit=[{"path": "edit.diff", "text": "-one\n+two\n"}])
    assert other_edit <= first - files
    other_site = prefilled(client, edit=[{"path": "edit.diff", "text": "-one\n+two\n"}], max_tokens=6)
    assert other_site <= other_edit - edit


@pytest.mark.parametrize("wanted", [1, 8])
def test_a_closed_connection_stops_the_work(client: httpx.Client, engine: SlowEngine, wanted: int):
    """Invariant 5."""
    body = BODY | {"sites": [SITE | {"prefix": "x = 1\n" * 300}] * wanted, "max_tokens": 1024}
    with client.stream("POST", "/v1/sites", json=body):
        time.sleep(0.1)
    has_stopped(engine, client)


def test_typing_goes_before_sites(client: httpx.Client, engine: SlowEngine):
    body = BODY | {"sites": [SITE] * 8, "max_tokens": 300}
    with client.stream("POST", "/v1/sites", json=body) as slow:
        while not engine.steps:
            time.sleep(0.01)
        typed = client.post("/v1/infill", json={"gaps": [{"prefix": "a", "suffix": ""}], "max_tokens": 6})
        assert typed.text.endswith('{"event": "done"}\n')
        assert list(slow.iter_lines())[-1] == '{"event": "done"}'
    assert {6} in engine.together
    assert {6, 300} not in engine.together


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "object"),
        ({}, "sites"),
        ({"sites": []}, "sites"),
        ({"sites": [SITE] * 65}, "sites"),
        ({"sites": ["x"]}, "A site"),
        ({"sites": [{"prefix": "a", "suffix": "b"}]}, "text"),
        ({"sites": [SITE | {"colour": 1}]}, "colour"),
        ({"sites": [SITE | {"candidates": "x"}]}, "candidates"),
        ({"sites": [SITE | {"candidates": ["x"] * 9}]}, "candidates"),
        ({"sites": [SITE | {"candidates": ["\ud800"]}]}, "surrogate"),
        ({"sites": [SITE | {"propose": 1}]}, "propose"),
        ({"sites": [SITE | {"without": {"prefix": "a"}}]}, "suffix"),
        ({"sites": [SITE | {"without": None}]}, "without"),
        ({"sites": [SITE], "edit": "x"}, "edit"),
        ({"sites": [SITE], "edit": [{"path": "x"}]}, "text"),
        ({"sites": [SITE], "temperature": 1}, "temperature"),
        ({"sites": [SITE], "mode": "magic"}, "mode"),
        ({"sites": [SITE], "priority": "now"}, "priority"),
        ({"sites": [SITE | {"prefix": "a" * 500_000}]}, "characters"),
        ({"sites": [SITE | {"path": "a" * 500_000}]}, "characters"),
        ({"sites": [SITE | {"text": "a" * 16_001}]}, "characters"),
    ],
)
def test_each_wrong_field_is_named_in_one_sentence(client: httpx.Client, body, named: str):
    answer = client.post("/v1/sites", content=json.dumps(body))
    assert answer.status_code in (400, 413)
    assert named in answer.json()["error"]
    assert answer.json()["error"].endswith(".")


def test_what_stood_before_the_edit_is_the_other_prompt():
    (one,) = parse_sites(BODY | {"sites": [SITE | {"without": {"prefix": "before", "suffix": ""}}]}).asked
    assert (one.gap.prefix, one.without.prefix, one.without.suffix) == ("x = 1\n", "before", "")
    assert [file.path for file in one.gap.files] == ["b.py", "edit.diff"]
    assert [file.path for file in one.without.files] == ["b.py"]
    assert one.without.path == "c.py"
