"""The command line: what it says when it cannot go on, and what it records of itself."""

import pytest

from bench.quality import __main__ as command
from bench.quality.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--set", "multi-line"], "Set DLSP_EVAL_DIR to a folder that has humaneval_infilling/"),
        (["--variants", "verify"], "'verify' is no variant: use autoregressive"),
    ],
)
def test_what_the_user_has_to_mend_is_one_sentence_and_2(arguments, sentence, monkeypatch, capsys):
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1


def test_ctrl_c_says_that_nothing_is_lost(monkeypatch, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "load", stopped)
    assert main([]) == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_the_weights_as_published_are_recorded_and_kept_apart(monkeypatch, tmp_path):
    plans = []
    monkeypatch.setattr(command, "load", lambda *_: [])
    monkeypatch.setattr(command, "run", lambda plan, load: plans.append(plan) or tmp_path)
    for more in ([], ["--no-infill-update"]):
        assert main(["--variants", "verified", *more]) == 0
    updated, published = plans
    assert "infill-update" not in updated.command
    assert "--no-infill-update" in published.command
    assert published.journal == f"{updated.journal}-published"
    assert published.bench != updated.bench


def test_other_adapters_are_recorded_and_kept_apart(monkeypatch, tmp_path):
    plans = []
    monkeypatch.setattr(command, "load", lambda *_: [])
    monkeypatch.setattr(command, "run", lambda plan, load: plans.append(plan) or tmp_path)
    other = tmp_path / "first"
    other.mkdir()
    for more in ([], ["--adapters", str(other)]):
        assert main(["--variants", "verified", *more]) == 0
    shipped, first = plans
    assert first.command.endswith("--adapters first --variants verified")
    assert first.bench == f"{shipped.bench}-first"
    assert first.folder != shipped.folder, "the answers of other weights"


def test_the_recorded_command_gives_the_same_numbers_again_and_names_no_path():
    asked = command._parser().parse_args(["--limit", "9", "--variants", "verified", "--out", "/home/me/x.json"])
    recorded = command._command(asked)
    assert recorded == (
        "python -m bench.quality --set single-line --model 0.5b --dtype bfloat16 --limit 9 --seed 0 --variants verified"
    )
