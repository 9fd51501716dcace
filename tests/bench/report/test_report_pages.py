"""The report: drawn from results files alone, whatever of them there is, and nothing in it without its origin."""

import json
import re
from pathlib import Path

import pytest

from bench import results
from bench.report.__main__ import main

pytest.importorskip("matplotlib", reason="the report's packages come with the extra `bench`")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty results folder, on a machine called desk."""
    monkeypatch.setenv("DLSP_MACHINE", "desk")
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def report(folder: Path, *more: str) -> tuple[str, str]:
    """The Markdown page and the HTML page."""
    out = folder.parent / "report"
    assert main(["--results", str(folder), "--out", str(out), *more]) == 0
    return (out / "REPORT.md").read_text(), (out / "report.html").read_text()


def peers(metrics: dict[str, float], **more) -> None:
    sides = {"llama.cpp": {}, "int8": {}}
    results.write("peers-m", "python -m bench.peers --gaps 2", metrics, [{}, {}], sides=sides, **more)


def waits(name: str, middle: float) -> dict[str, float]:
    return {f"{name}/line/{end}": middle + more for end, more in (("q1", -9), ("median", 0), ("q3", 9))}


def test_the_real_results_give_all_pages_and_plots(tmp_path):
    real = Path(results.__file__).parent / "results"
    assert main(["--results", str(real), "--out", str(tmp_path), "--machine", "epyc-2c"]) == 0
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "REPORT.md").read_text()
    names = [path.stem for path in (tmp_path / "plots").glob("*.svg")]
    assert names
    for name in names:
        assert f"plots/{name}.svg" in text
        assert (tmp_path / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert page.count("<figure>") == page.count("<figcaption>")
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    origins = ("python -m", "make prove", "published figures")
    assert all(any(origin in caption for origin in origins) for caption in captions)
    files = [json.loads(path.read_text())["bench"] for path in real.glob("*-epyc-2c.json")]
    assert len(files) <= len(captions), "no result goes without a table"


def test_the_page_needs_nothing_beside_it(folder):
    peers(waits("llama.cpp", 100))
    _, page = report(folder)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=", page)
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)


def test_where_the_peer_wins_the_table_shows_it(folder):
    peers(waits("llama.cpp", 100) | waits("int8 verified", 140))
    text, _ = report(folder)
    assert "| llama.cpp | **100 (91 to 109)** |" in text
    assert "| int8 verified | 140 (131 to 149) |" in text
    peers(waits("llama.cpp", 100) | waits("int8 verified", 80))
    assert "| int8 verified | **80 (71 to 89)** |" in report(folder)[0]


def test_a_missing_peer_is_missing_and_said(folder):
    peers(waits("int8 verified", 80), notes=["llama.cpp does not take part: xllamacpp is not installed."])
    text, page = report(folder)
    assert "| int8 verified | 80 (71 to 89) |" in text
    assert "- llama.cpp does not take part" in text
    assert "llama.cpp does not take part" in page


def test_growth_is_drawn_by_size(folder):
    metrics = {}
    for name, factor in (("llama.cpp", 1), ("int8 verified", 2)):
        for size in (256, 1024):
            metrics |= {f"{name}/context/{size}/ms": factor * size, f"{name}/context/{size}/cold_ms": 3 * size}
    results.write("growth-m", "python -m bench.growth", metrics, [])
    text, _ = report(folder)
    assert "|  | 256 | 1,024 |".replace("|  |", "| |") in text
    assert "| llama.cpp | **256 (768)** | **1,024 (3,072)** |" in text


def test_an_unknown_bench_still_gets_its_table_and_text_is_no_markup(folder):
    results.write("novel", "python -m bench.novel", {"a/ms": 1.5, "b/ms": 2.5, "<i>x/ms": 3}, [])
    text, page = report(folder)
    assert "| a | 1.5 |" in text
    assert "&lt;i&gt;x" in page
    assert "<i>x" not in page


def test_no_recorded_text_can_end_the_script(folder):
    mode = {"frames": [{"ms": 1, "committed": "</script><b>", "canvas": []}], "ms": 1, "forwards": 1, "tokens": 1}
    sample = {
        "title": "t",
        "place": "p",
        "before": "",
        "after": "",
        "modes": {"autoregressive": mode, "verified": mode},
    }
    results.write("watch-m", "python -m bench.watch", {}, [sample])
    _, page = report(folder)
    assert "</script><b>" not in page
    assert page.count("</script>") == 2


def test_published_figures_say_that_they_are_others_and_where_from(folder):
    peers(waits("llama.cpp", 100))
    text, _ = report(folder)
    published = text.split("## Published by others")[1]
    assert "not measured here" in published
    rows = [line for line in published.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        cells = row.strip("| ").split(" | ")
        assert len(cells) == 5
        assert "](https://" in cells[3]
        assert cells[4] in ("source", "secondary")


def test_what_is_wrong_is_one_sentence(folder, capsys):
    assert main(["--results", str(folder)]) == 2
    assert "has no results of desk; run `dlsp bench all` first." in capsys.readouterr().err
    (folder / "x-desk.json").write_text("{")
    assert main(["--results", str(folder)]) == 2
    assert "x-desk.json is no results file" in capsys.readouterr().err


def test_results_of_another_machine_are_named(folder, monkeypatch, capsys):
    peers(waits("llama.cpp", 100))
    monkeypatch.setenv("DLSP_MACHINE", "shelf")
    peers(waits("llama.cpp", 100))
    monkeypatch.setenv("DLSP_MACHINE", "table")
    assert main(["--results", str(folder)]) == 2
    assert "there are some of desk, shelf: use --machine" in capsys.readouterr().err
    assert "measured on shelf" in report(folder, "--machine", "shelf")[0]
