"""Two runs agree when every ratio that both have is within a tenth."""

import pytest

from bench import results
from bench.report.repeat import main


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("DLSP_MACHINE", "desk")

    def write(number: int, **metrics: float) -> str:
        named = {f"{name}/line/ratio_median": value for name, value in metrics.items()}
        results.write(
            "peers-m", "", named | {"x/line/median": 100 * number}, [], tmp_path / str(number) / "peers-m-desk.json"
        )
        return str(tmp_path / str(number))

    return write


@pytest.mark.parametrize(
    ("second", "status", "said"),
    [
        ({"a": 0.88, "b": 1.09}, 0, "2 of 2 ratios agree"),
        ({"a": 0.71, "b": 1.0}, 1, "1 of 2 ratios agree"),
        ({"a": 0.80, "b": 1.12}, 1, "1 of 2 ratios agree"),
        ({"c": 1.0}, 2, "no ratio in common"),
    ],
)
def test_ratios_and_nothing_else_are_compared(runs, capsys, second, status, said):
    assert main([runs(1, a=0.80, b=1.0), runs(2, **second)]) == status
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
