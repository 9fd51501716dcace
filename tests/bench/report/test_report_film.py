"""The README's film says what was recorded."""

import re
from xml.etree import ElementTree

import pytest

from bench.report import film
from bench.report.film import KEEP_MS, SLOWER

TAKE = {"frames": [{"ms": 100, "committed": "a", "canvas": []}, {"ms": 200, "committed": "a<b", "canvas": []}]}
SAMPLE = {
    "before": "def f():\n    return ",
    "after": "\n",
    "modes": {
        "autoregressive": TAKE | {"ms": 200, "forwards": 2},
        "verified": {
            "frames": [
                {"ms": 90, "committed": "", "canvas": ["a", None]},
                {"ms": 120, "committed": "a<b", "canvas": []},
            ],
            "ms": 120,
            "forwards": 1,
        },
    },
}


def test_the_committed_film_is_the_recorded_one():
    assert film.FILE.read_text(encoding="utf-8") == film.drawn(), "run `python -m bench.report.film`"


def test_every_state_has_its_moment_and_its_text():
    text = film.film(SAMPLE, "on a desk")
    root = ElementTree.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    groups = {each.get("class"): "".join(each.itertext()) for each in root.iter(f"{name}g") if each.get("class")}
    assert groups["s0f0"] == "def f():    return 0 forwards"
    assert groups["s0f1"] == "def f():    return a1 forward"
    assert groups["s0f2"] == "def f():    return a<b2 forwards, 200 ms"
    assert groups["s1f1"] == "def f():    return a░░1 forward"
    assert groups["s1f2"] == "def f():    return a<b1 forward, 120 ms"
    total = SLOWER * 200 + KEEP_MS
    assert f"animation:s1f2 {total / 1000:.2f}s" in text
    shown = re.search(r"@keyframes s1f2\{0%\{opacity:0\}([\d.]+)%", text)
    assert shown
    assert float(shown[1]) == pytest.approx(100 * SLOWER * 120 / total, abs=0.01)
