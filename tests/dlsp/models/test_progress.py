"""pytest tests/dlsp/models/test_progress.py"""

import pytest

from dlsp.models import progress
from dlsp.models.progress import Terminal

MB = 1_000_000


def test_a_log_gets_few_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with Terminal() as terminal:
        terminal.say("from [somewhere]")
        for done in range(0, 201):
            now += 0.15
            terminal.at("downloading", done * MB, 200 * MB)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "from [somewhere]"
    assert lines[-1] == "downloading: 200 of 200 MB"
    assert len(lines) == 12


def test_what_is_quick_gets_none(capsys: pytest.CaptureFixture[str]):
    with Terminal() as terminal:
        for done in range(0, 201):
            terminal.at("checking", done * MB, 200 * MB)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Terminal() as terminal:
        terminal.at("downloading", 50 * MB, 200 * MB)
        terminal.say("elsewhere")
        terminal.at("downloading", 150 * MB, 200 * MB)
    said = capsys.readouterr().err
    assert "elsewhere\n" in said
    assert "150.0/200.0 MB" in said
