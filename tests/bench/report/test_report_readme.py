"""The pages say what bench/results says."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bench.dial import summary as dialled
from bench.report import plots, readme
from bench.report.blocks import interfaces, summary, typing
from bench.report.blocks.words import SMALL, Needed
from bench.report.load import FIELDS, Results, newest
from bench.report.readme import BLOCKS, MACHINE, PAGES, filled
from dlsp.errors import UserError


@pytest.fixture(scope="module")
def measured() -> Results:
    return newest(MACHINE)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [page.read_text(encoding="utf-8") for page in PAGES]


def test_the_pages_have_the_numbers_of_the_results(texts: list[str], measured: Results) -> None:
    assert filled(texts, measured) == texts, "run `python -m bench.report.readme`"


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_follows_the_results(block: str, texts: list[str], measured: Results) -> None:
    """With other numbers in the files, each block reads differently."""
    others = [replace(one, metrics={name: value * 1.07 + 3 for name, value in one.metrics.items()}) for one in measured]
    marker = f"<!-- bench:{block} -->"

    def inside(pages: list[str]) -> str:
        return "".join(pages).split(marker)[1].split("<!-- /bench:")[0]

    assert inside(filled(texts, Results(others, MACHINE))) != inside(texts)


def test_a_missing_result_or_marker_is_said(texts: list[str], measured: Results) -> None:
    lacking = [one for one in measured if one.bench != "identity"]
    with pytest.raises(UserError, match=r"need bench/results/identity-epyc-2c\.json"):
        filled(texts, Results(lacking, MACHINE))
    with pytest.raises(UserError, match="one pair of markers for each of"):
        filled([text.replace("<!-- bench:start -->", "") for text in texts], measured)
    with pytest.raises(UserError, match="no `<!-- /bench:start -->`"):
        filled([text.replace("<!-- /bench:start -->", "") for text in texts], measured)


def test_a_newer_result_of_another_machine_counts_and_is_named(texts: list[str], tmp_path, measured: Results) -> None:
    for one in measured:
        content = one.more | {name: getattr(one, name) for name in FIELDS}
        (tmp_path / f"{one.name}-{one.machine}.json").write_text(json.dumps(content), encoding="utf-8")
    (soak,) = (one for one in measured if one.name == f"traffic-{SMALL}")
    other = {name: getattr(soak, name) for name in FIELDS} | {"machine": "desk", "hardware": "A desk, 4 cores"}
    newer = other | {"date": "2999-01-01T00:00:00+00:00", "metrics": soak.metrics | {"requests": 77.0}}
    for name, content in ((soak.name, newer), ("cancel", other | {"bench": "cancel", "date": "2000-01-01"})):
        (tmp_path / f"{name}-desk.json").write_text(json.dumps(content), encoding="utf-8")
    page = filled(texts, newest(MACHINE, tmp_path))[1]
    block = page.split("<!-- bench:crowd -->")[1].split("<!-- /bench:crowd -->")[0]
    assert "77 requests" in " ".join(block.split())
    assert f"On A desk, 4 cores: `{soak.command}`." in " ".join(block.split())
    assert page.count("A desk") == 1


def test_the_efforts_are_shown_once_they_are_measured(measured: Results) -> None:
    times = {"instant": 90, "low": 100, "medium": 240, "high": 1000}
    efforts = {effort: {"passed": effort != "instant", "ms": ms} for effort, ms in times.items()}
    metrics = dialled([{"kind": kind} | efforts for kind in ("gaps", "chats")])
    (other,) = (one for one in measured if one.name == f"throughput-{SMALL}")
    dial = replace(other, name=f"dial-{SMALL}", metrics=metrics)
    text = interfaces.chats(Needed(Results([*(one for one in measured if one.name != dial.name), dial], MACHINE)))
    assert "| `medium` | 100.0% | 0, 0 | 240 ms, 2.40 times | 100.0% | 0, 0 | 240 ms, 2.40 times |" in text
    assert "| `instant` | 0.0% | 0, 1 | 90 ms, 0.90 times |" in text
    figure = plots.dial(dial)
    for axes in figure.axes:
        assert [label.get_text() for label in axes.texts] == list(times)
        assert np.asarray(axes.lines[0].get_xdata()).tolist() == list(times.values())


def test_the_gates_probabilities_are_drawn_against_what_was_right() -> None:
    bins = [{"predicted": 0.2, "right": 0.3, "number": 10}, {"predicted": 0.9, "right": 0.8, "number": 5}]
    (axes,) = plots.reliability({"ask": bins[:1], "show": bins}).axes
    lines = [[np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()] for line in axes.lines]
    assert lines == [[[0, 1], [0, 1]], [[0.2], [0.3]], [[0.2, 0.9], [0.3, 0.8]]]


def test_what_llama_cpp_is_built_for_is_said(measured: Results) -> None:
    (own,) = (one for one in measured if one.name == f"throughput-{SMALL}")
    others = [one for one in measured if one is not own]
    told = replace(own, more={"llama": {"isa": "SSE3 AVX2"}})
    text = " ".join(interfaces.chats(Needed(Results([*others, told], MACHINE))).split())
    assert "llama.cpp's server (built for AVX2)" in text


def test_check_tells_by_its_exit_status(texts: list[str], tmp_path, monkeypatch, capsys) -> None:
    copies = [tmp_path / "README.md", tmp_path / "bench.md"]
    for copy, text in zip(copies, texts, strict=True):
        copy.write_text(text.replace("| autoregressive | ", "| autoregressive | 9"), encoding="utf-8")
    monkeypatch.setattr(readme, "PAGES", copies)
    monkeypatch.setattr(readme, "PICTURES", tmp_path)
    assert readme.main(["--check"]) == 1
    assert "run `python -m bench.report.readme`" in capsys.readouterr().err
    assert readme.main([]) == 0
    assert [copy.read_text(encoding="utf-8") for copy in copies] == texts
    assert (tmp_path / "peers.svg").exists()
    assert readme.main(["--check"]) == 0


@pytest.mark.parametrize("contender", [typing.OURS, typing.PEER])
def test_the_typing_says_what_it_was_measured_beside(contender: str, measured: Results) -> None:
    """A busy machine is not called idle."""
    busy = [
        replace(one, metrics=one.metrics | {f"{contender}/others": 0.31}) if one.name.startswith("replay-") else one
        for one in measured
    ]
    assert "other programs taking 31% of the machine" in " ".join(typing.replay(Needed(Results(busy, MACHINE))).split())


def test_a_row_of_the_summary_compares_like_with_like(measured: Results) -> None:
    """Lines written anew on both sides: the share of all scripts, edits included, is another number."""
    needed = Needed(measured)
    metrics = needed[f"replay-{SMALL}"].metrics
    row = next(line for line in summary.summary(needed).splitlines() if "characters completed" in line)
    assert f"{metrics['dlsp/writing/right_first']:.0%} right when shown" in row
    assert f"llama.vim's policy {metrics['llama.vim/writing/completed']:.0%}" in row


def test_a_percentile_that_is_not_known_is_left_out(measured: Results) -> None:
    (found,) = (one for one in measured if one.name == f"replay-{SMALL}")
    known = {
        name: value for name, value in found.metrics.items() if name not in ("dlsp/warm_p95_ms", "dlsp/warm_p90_ms")
    }
    few = [replace(one, metrics=known) if one is found else one for one in measured]
    text = " ".join(typing.replay(Needed(Results(few, MACHINE))).split())
    assert f"shown or not, {known['dlsp/warm_p50_ms']:.0f} ms, to one from memory" in text
