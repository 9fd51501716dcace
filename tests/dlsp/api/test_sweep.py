"""Sweep's own server: the range of the file that its answer replaces."""

import gzip
import json
from typing import Any

import httpx
import pytest

from dlsp.api.dialects.sweep import PATH, change, region_of
from tests.dlsp.stub_engine import StubEngine

TEXT = "# é\nimport b\n\n\ndef f(x):\n    return y\n\n\nprint(f(1))\n\n\nlast = 1\n"
CURSOR = TEXT.index("return y") + len("return y")
BODY: dict[str, Any] = {
    "file_path": "src/a.py",
    "file_contents": TEXT,
    "recent_changes": "File: src/a.py:\n@@ -5 +5 @@\n-def f(x, z):\n+def f(x):\n",
    "cursor_position": CURSOR,
    "file_chunks": [{"file_path": "b.py", "start_line": 1, "end_line": 1, "content": "B = 1\n"}],
    "recent_user_actions": [],
    "multiple_suggestions": False,
}
REQUIRED = {"autocomplete_id", "start_index", "end_index", "completion", "confidence"}


def renamed(request: dict[str, Any]) -> str:
    region = request["messages"][1]["content"].split("The part:\n```\n")[1].split("\n```")[0]
    return f"```python\n{region.replace('return y', 'return x')}\n```"


@pytest.mark.parametrize("in_bytes", [False, True])
async def test_an_edit(api: httpx.AsyncClient, stub: StubEngine, in_bytes: bool) -> None:
    stub.answer = renamed
    at = len(TEXT[:CURSOR].encode()) if in_bytes else CURSOR
    answer = await api.post(PATH, json=BODY | {"cursor_position": at, "use_bytes": in_bytes})
    found = answer.json()
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert found.keys() >= REQUIRED
    text: Any = TEXT.encode() if in_bytes else TEXT
    new: Any = found["completion"].encode() if in_bytes else found["completion"]
    whole = text[: found["start_index"]] + new + text[found["end_index"] :]
    assert (whole.decode() if in_bytes else whole) == TEXT.replace("return y", "return x")
    assert found["completion"] == "x"
    assert 0 < found["confidence"] <= 1
    question = stub.requests[0]["messages"][1]["content"]
    assert all(part in question for part in ("src/a.py", "B = 1", "+def f(x):", "import b", "last = 1"))


async def test_no_edit(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: renamed(request).replace("return x", "return y")
    found = (await api.post(PATH, json=BODY | {"multiple_suggestions": True})).json()
    assert (found["completion"], found["start_index"], found["end_index"]) == ("", CURSOR, CURSOR)
    assert [each.keys() >= REQUIRED for each in found["completions"]] == [True]


@pytest.mark.parametrize(
    ("old", "new"),
    [("ab\ncd", "ab\ncd"), ("ab\ncd", "a\ncd"), ("ab\ncd", "b\ncd"), ("ab\ncd", "ab\nxcd"), ("ab\ncd", "xy")],
)
def test_the_range_of_a_change(old: str, new: str) -> None:
    text = f"0\n{old}"
    region = region_of(text, 2)
    whole = region.text.replace(old, new)
    start, end, written = change(region, whole)
    assert text[:start] + written + text[end:] == f"0\n{new}"
    assert bool(written) == (old != new), "an empty text means no edit"


def test_the_region_is_of_whole_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(20))
    region = region_of(text, text.index("line 9") + 3)
    assert region.text.split("\n") == [f"line {number}" for number in range(7, 15)]
    assert text[region.start : region.end] == region.text
    assert region_of("", 0).text == ""


async def test_the_model_reads_a_part_of_large_files(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = renamed
    chunk = {"file_path": "large.py", "start_line": 1, "end_line": 2, "content": "B = 1\n" * 100_000}
    large = {"file_contents": "# é\n" * 50_000 + TEXT + "x = 1\n" * 50_000, "recent_changes": "+a\n" * 50_000}
    at = large["file_contents"].index("return y") + len("return y")
    answer = await api.post(PATH, json=BODY | large | {"cursor_position": at, "file_chunks": [chunk] * 9})
    assert answer.json()["completion"] == "x"
    assert len(stub.requests[0]["messages"][1]["content"]) < 32_000


async def test_a_body_in_gzip(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = renamed
    body = gzip.compress(json.dumps(BODY).encode())
    statuses = [
        (await api.post(PATH, content=content, headers={"Content-Encoding": encoding})).status_code
        for content, encoding in (
            (body, "gzip"),
            (body[:-9], "gzip"),
            (b"no gzip", "gzip"),
            (body, "br"),
            (gzip.compress(bytes(2**24)), "gzip"),
        )
    ]
    assert statuses == [200, 400, 400, 415, 413]


@pytest.mark.parametrize("wrong", [{"cursor_position": 10**6}, {"cursor_position": -1}, {"file_chunks": ["a"]}])
async def test_errors(api: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    answer = await api.post(PATH, json=BODY | wrong)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == next(iter(wrong))
