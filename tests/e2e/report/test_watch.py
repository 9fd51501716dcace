"""The page on which a gap comes into focus, in a real browser, from a recording whose every moment is known."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import results
from bench.report.__main__ import main
from tests.e2e.provide import Missing
from tests.e2e.vscode.browser import Browser
from tests.e2e.vscode.provide import editor
from tests.e2e.vscode.settings import View

TYPED = ["a", "a +", "a + b", "a + b)"]
SCREENS = Path(__file__).parents[3] / "build" / "screens" / "report"


def take(frames: list[tuple[float, str, list[str | None]]], forwards: int) -> dict:
    states = [{"ms": ms, "committed": committed, "canvas": canvas} for ms, committed, canvas in frames]
    return {"frames": states, "ms": frames[-1][0], "forwards": forwards, "tokens": 4}


SAMPLE = {
    "title": "a sum",
    "place": "sum.py, line 2",
    "before": "def add(a, b):\n    return (",
    "after": "\n",
    "modes": {
        "autoregressive": take([(100.0 * n, text, []) for n, text in enumerate(TYPED, 1)], 4),
        "verified": take([(100, "a", [" +", None, None]), (200, "a + b)", [])], 2),
        "diffusion": take([(300, "a +", [None, ")"]), (800, "a + c)", [])], 5),
    },
}
MARKS = "() => [...document.querySelectorAll('#right pre span')].map((it) => [it.className, it.textContent])"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLSP_MACHINE", "desk")
        results.write("watch-m", "python -m bench.watch", {}, [SAMPLE], folder / "watch-m-desk.json")
        assert main(["--results", str(folder), "--out", str(folder / "out")]) == 0
    return folder / "out" / "report.html"


@pytest.fixture(params=[(1100, 900), (390, 844)], ids=["desk", "phone"])
def browser(request: pytest.FixtureRequest, page: Path) -> Iterator[Browser]:
    try:
        programs = editor()
    except Missing as why:
        pytest.skip(f"NOT RUN: no browser here. {why}")
    width, height = request.param
    one = Browser(programs, View(width, height))
    try:
        one.open(page.as_uri(), "#right pre span")
        yield one
    finally:
        one.close()


def text(browser: Browser, selector: str) -> str:
    return browser.evaluate("(it) => document.querySelector(it).textContent", selector)


def press(browser: Browser, label: str) -> None:
    browser.do(lambda page: page.get_by_role("button", name=label, exact=True).click())


def go_to(browser: Browser, share: float) -> None:
    """Drag the time to a share of the longest run."""
    script = """(it) => {
      const time = document.getElementById('time');
      time.value = it;
      time.dispatchEvent(new Event('input'));
    }"""
    browser.evaluate(script, round(1000 * share))


def test_each_moment_shows_what_the_run_had_then(browser: Browser) -> None:
    go_to(browser, 0.3)  # of 400 ms
    assert text(browser, "#left pre") == "def add(a, b):\n    return (a\n"
    assert text(browser, "#left .count") == "1 forward"
    marks = browser.evaluate(MARKS)
    assert ["draft", " +"] in marks
    assert [kind for kind, _ in marks].count("mask") == 2
    assert text(browser, "#clock") == "120 ms"
    go_to(browser, 0.55)
    assert text(browser, "#left pre") == "def add(a, b):\n    return (a +\n"
    assert text(browser, "#right pre") == "def add(a, b):\n    return (a + b)\n"
    assert text(browser, "#right .count") == "2 forwards, 4 tokens, 200 ms"
    assert "mask" not in [kind for kind, _ in browser.evaluate(MARKS)]
    assert text(browser, ".verdict") == "", "nothing is said before both are done"
    go_to(browser, 1)
    assert text(browser, ".verdict") == (
        "The same answer, in 2 forwards where it takes 4; 2.0 times as fast as autoregressive."
    )


def test_a_mode_that_loses_is_said_to_lose(browser: Browser) -> None:
    press(browser, "diffusion")
    go_to(browser, 1)
    assert text(browser, "#right h3") == "diffusion"
    assert text(browser, ".verdict") == (
        "Another answer, in 5 forwards where it takes 4; 2.0 times as slow as autoregressive."
    )


def test_it_plays_by_itself_in_the_runs_own_time_and_again(browser: Browser) -> None:
    browser.do(lambda page: page.wait_for_function("document.getElementById('play').textContent === 'Again'"))
    press(browser, "real time")
    began = browser.evaluate("() => performance.now()")
    press(browser, "Again")
    browser.do(lambda page: page.wait_for_function("document.getElementById('play').textContent === 'Again'"))
    took = browser.evaluate("() => performance.now()") - began
    assert took > 395, "400 ms of a run take 400 ms"
    assert text(browser, "#left pre") == "def add(a, b):\n    return (a + b)\n"


def test_nothing_is_wider_than_the_screen_nor_moves_below(browser: Browser) -> None:
    heights = set()
    for share in (0, 0.3, 1):
        go_to(browser, share)
        heights.add(browser.evaluate("() => document.body.scrollHeight"))
        assert browser.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert len(heights) == 1
    SCREENS.mkdir(parents=True, exist_ok=True)
    width = browser.evaluate("() => innerWidth")
    browser.do(lambda page: page.screenshot(path=SCREENS / f"watch-{width}.png"))
