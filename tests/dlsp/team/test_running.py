"""What `dlsp team serve` refuses before Ray is imported."""

from pathlib import Path

import pytest

from dlsp.errors import UserError
from dlsp.team.config import Config, ServedModel
from dlsp.team.running import serve_until_ended
from tests.dlsp.engine.test_remote import free_port

NO_HOLDER = "none:none"


def config(folder: Path, port: int) -> Config:
    return Config((ServedModel("0.5b"),), folder / "tokens.json", port=port)


def test_a_cluster_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port()}")
    with pytest.raises(UserError, match=r"cluster at 127\.0\.0\.1:\d+ does not answer: correct RAY_ADDRESS"):
        serve_until_ended(lambda: config(tmp_path, free_port()), print, NO_HOLDER)
