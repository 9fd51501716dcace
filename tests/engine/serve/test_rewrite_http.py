"""`POST /v1/rewrite` over a real socket, on a tiny model."""

import json
import time

import httpx
import pytest

from dlsp_engine.serve.rewrites import parse_rewrites
from dlsp_engine.text.edit_formats.named import FORMATS
from tests.engine.serve.conftest import SlowEngine, has_stopped
from tests.engine.test_edit_formats import NAMED

WINDOW = {"path": "c.py", "text": "x = area(1)\ny = 2\n", "before": "x = size(1)\ny = 2\n", "keep": 1}
BODY = {
    "files": [{"path": "b.py", "text": "import a\n" * 9}],
    "edits": [{"path": "edit.diff", "text": "-area\n+size\n"}],
    "windows": [WINDOW, WINDOW | {"keep": 0, "diagnostics": ["area is unknown"]}],
    "margin": 100,
    "max_tokens": 5,
}


def events(answer: httpx.Response) -> list[dict]:
    assert answer.status_code == 200, answer.text
    *told, last = [json.loads(line) for line in answer.text.splitlines() if line]
    assert last == {"event": "done"}
    return sorted(told, key=lambda event: event["window"])


def test_an_event_for_each_window_then_done(client: httpx.Client):
    told = events(client.post("/v1/rewrite", json=BODY | {"margin": 0}))
    assert [event["window"] for event in told] == [0, 1]
    for event in told:
        assert event.keys() == {"event", "window", "changes", "reason", "doubt", "doubted", "cost"}
        assert event["event"] == "rewrite"
        assert (event["changes"], event["reason"]) == ([], "length"), "this model ends nothing"
        assert event["doubt"] > 0
        cost = event["cost"]
        assert cost["tau"] == pytest.approx(cost["tokens"] / cost["forwards"], abs=1e-3)


def test_a_change_is_forced(client: httpx.Client):
    """At margin 100 nothing changes by itself."""
    body = BODY | {"windows": [WINDOW], "max_tokens": 1024}
    (quiet,) = events(client.post("/v1/rewrite", json=body))
    (forced,) = events(client.post("/v1/rewrite", json=body | {"force": -100}))
    assert quiet["changes"] == []
    assert quiet["doubted"] == forced["doubted"]
    assert forced["cost"]["forwards"] > quiet["cost"]["forwards"]
    assert all(change["start"] >= forced["doubted"] for change in forced["changes"])


def test_changes_are_ranges_of_the_window_s_text(client: httpx.Client, engine: SlowEngine):
    """Line breaks end an answer here, so only the first line is left."""
    plain = engine.tokenizer
    ending = type("Ending", (), {"stops": frozenset({10}), "__getattr__": lambda self, name: getattr(plain, name)})
    engine.tokenizer = ending()  # type: ignore[assignment]
    (one,) = events(client.post("/v1/rewrite", json=BODY | {"windows": [WINDOW | {"keep": 0}], "max_tokens": 1024}))
    assert one["reason"] == "end"
    (change,) = one["changes"]
    assert change.pop("log_p") <= 0, "with the margin, which holds here to the window's tokens"
    assert change == {"start": 12, "end": 18, "text": ""}


def test_what_a_key_does_not_change_is_not_read_again(client: httpx.Client):
    def read(**changed) -> int:
        (one,) = events(client.post("/v1/rewrite", json=BODY | {"windows": [WINDOW | changed]}))
        return one["cost"]["prompt_tokens"] - one["cost"]["cached_tokens"]

    assert read() > 150
    assert read(text="x = area(12)\ny = 2\n") < 50


@pytest.mark.parametrize("wanted", [1, 8])
def test_a_closed_connection_stops_the_work(client: httpx.Client, engine: SlowEngine, wanted: int):
    """Invariant 5."""
    body = BODY | {"windows": [WINDOW | {"text": "x = 1\n" * 300}] * wanted, "max_tokens": 1024, "margin": 0}
    with client.stream("POST", "/v1/rewrite", json=body):
        time.sleep(0.1)
    has_stopped(engine, client)


def test_typing_goes_before_windows(client: httpx.Client, engine: SlowEngine):
    body = BODY | {"windows": [WINDOW] * 8, "max_tokens": 60, "margin": 0}
    with client.stream("POST", "/v1/rewrite", json=body) as slow:
        while not engine.steps:
            time.sleep(0.01)
        typed = client.post("/v1/infill", json={"gaps": [{"prefix": "a", "suffix": ""}], "max_tokens": 6})
        assert typed.text.endswith('{"event": "done"}\n')
        assert list(slow.iter_lines())[-1] == '{"event": "done"}'
    assert {6} in engine.together


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "object"),
        ({}, "windows"),
        ({"windows": []}, "windows"),
        ({"windows": [WINDOW] * 17}, "windows"),
        ({"windows": ["x"]}, "A window"),
        ({"windows": [{"path": "c.py"}]}, "text"),
        ({"windows": [WINDOW | {"colour": 1}]}, "colour"),
        ({"windows": [WINDOW | {"keep": -1}]}, "keep"),
        ({"windows": [WINDOW | {"keep": True}]}, "keep"),
        ({"windows": [WINDOW | {"before": 1}]}, "before"),
        ({"windows": [WINDOW | {"row": -1}]}, "row"),
        ({"windows": [WINDOW | {"row": "1"}]}, "row"),
        ({"windows": [WINDOW | {"cursor": -1}]}, "cursor"),
        ({"windows": [WINDOW | {"cursor": True}]}, "cursor"),
        ({"windows": [WINDOW | {"prefix": 1}]}, "prefix"),
        ({"windows": [WINDOW | {"diagnostics": "x"}]}, "diagnostics"),
        ({"windows": [WINDOW | {"diagnostics": ["x"] * 65}]}, "diagnostics"),
        ({"windows": [WINDOW | {"text": "\ud800"}]}, "surrogate"),
        ({"windows": [WINDOW], "margin": -1}, "margin"),
        ({"windows": [WINDOW], "margin": True}, "margin"),
        ({"windows": [WINDOW], "force": -101}, "force"),
        ({"windows": [WINDOW], "force": "never"}, "force"),
        ({"windows": [WINDOW], "margin": float("nan")}, "margin"),
        ({"windows": [WINDOW], "mode": "diffusion"}, "mode"),
        ({"windows": [WINDOW], "temperature": 1}, "temperature"),
        ({"windows": [WINDOW], "edits": "x"}, "edits"),
        ({"windows": [WINDOW], "edits": [{"path": "x"}]}, "text"),
        ({"windows": [WINDOW], "max_tokens": 1025}, "max_tokens"),
        ({"windows": [WINDOW], "priority": "now"}, "priority"),
        ({"windows": [WINDOW | {"text": "a" * 16_001}]}, "characters"),
        ({"windows": [WINDOW | {"path": "a" * 500_000}]}, "characters"),
    ],
)
def test_each_wrong_field_is_named_in_one_sentence(client: httpx.Client, body, named: str):
    answer = client.post("/v1/rewrite", content=json.dumps(body))
    assert answer.status_code in (400, 413)
    assert named in answer.json()["error"]
    assert answer.json()["error"].endswith(".")


def test_a_prompt_and_window_that_are_too_long_together_are_refused(client: httpx.Client):
    body = BODY | {"files": [{"path": "b.py", "text": "a" * 20_000}], "windows": [WINDOW | {"text": "b" * 13_000}]}
    answer = client.post("/v1/rewrite", json=body)
    assert "tokens" in json.loads(answer.text.lstrip().splitlines()[0])["error"]


def test_all_windows_share_files_edits_and_margin():
    one, other = parse_rewrites(BODY).asked
    assert (one.files, one.edits, one.margin) == (other.files, other.edits, other.margin)
    assert (one.margin, one.keep, other.diagnostics) == (100.0, 1, ("area is unknown",))


def test_a_model_that_others_taught_is_asked_in_their_format(client: httpx.Client, engine: SlowEngine):
    engine.tokenizer, engine.edit_format = NAMED, FORMATS["sweep"]
    body = {"edits": [], "windows": [WINDOW | {"row": 4, "cursor": 3, "prefix": "a\n", "suffix": "b\n"}]}
    (told,) = events(client.post("/v1/rewrite", json=body))
    shown = "<|file_sep|>original/c.py:5:6\nx = size(1)\ny = 2\n<|file_sep|>current/c.py:5:6\nx =<|cursor|> area(1)\n"
    prompt = shown + "y = 2\n<|file_sep|>updated/c.py:5:6\nx = area(1)\n"
    assert told["cost"]["prompt_tokens"] == len(prompt) - 3 * len("<|file_sep|>") + 3
    assert told["reason"] in ("end", "length")
