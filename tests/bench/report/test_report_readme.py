"""The README says what bench/results says."""

from dataclasses import replace

import pytest

from bench.report import readme
from bench.report.load import Results, load
from bench.report.readme import BLOCKS, MACHINE, README, filled
from dlsp.errors import UserError


@pytest.fixture(scope="module")
def measured() -> Results:
    return load(machine=MACHINE)


def test_the_readme_has_the_numbers_of_the_results(measured: Results) -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text, measured) == text, "run `python -m bench.report.readme`"


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_follows_the_results(block: str, measured: Results) -> None:
    """With other numbers in the files, each block reads differently."""
    others = [replace(one, metrics={name: value * 1.07 + 3 for name, value in one.metrics.items()}) for one in measured]
    text = README.read_text(encoding="utf-8")
    marker = f"<!-- bench:{block} -->"

    def inside(whole: str) -> str:
        return whole.split(marker)[1].split("<!-- /bench:")[0]

    assert inside(filled(text, Results(others, MACHINE))) != inside(text)


def test_a_missing_result_or_marker_is_said(measured: Results) -> None:
    text = README.read_text(encoding="utf-8")
    lacking = [one for one in measured if one.bench != "identity"]
    with pytest.raises(UserError, match=r"needs bench/results/identity-epyc-2c\.json"):
        filled(text, Results(lacking, MACHINE))
    with pytest.raises(UserError, match="one pair of markers for each of"):
        filled(text.replace("<!-- bench:start -->", ""), measured)
    with pytest.raises(UserError, match="has no `<!-- /bench:start -->`"):
        filled(text.replace("<!-- /bench:start -->", ""), measured)


def test_check_tells_by_its_exit_status(tmp_path, monkeypatch, capsys) -> None:
    copy = tmp_path / "README.md"
    text = README.read_text(encoding="utf-8")
    copy.write_text(text.replace("| autoregressive | 5", "| autoregressive | 9"), encoding="utf-8")
    monkeypatch.setattr(readme, "README", copy)
    assert readme.main(["--check"]) == 1
    assert "run `python -m bench.report.readme`" in capsys.readouterr().err
    assert readme.main([]) == 0
    assert copy.read_text(encoding="utf-8") == text
    assert readme.main(["--check"]) == 0
