"""Where dlsp keeps what it needs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dlsp.engine import state
from dlsp.errors import UserError
from dlsp.models import store


@pytest.mark.parametrize(("variable", "folder"), [("DLSP_STATE_DIR", state.folder), ("DLSP_CACHE_DIR", store.folder)])
def test_without_a_home_folder_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, variable: str, folder: Callable[[], Path]
) -> None:
    monkeypatch.setenv(variable, "~nobody-of-this-name/dlsp")
    with pytest.raises(UserError, match="DLSP_STATE_DIR and DLSP_CACHE_DIR"):
        folder()


def test_nor_does_a_user_without_one_see_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("DLSP_CACHE_DIR", raising=False)
    monkeypatch.setattr("dlsp.folders._platforms", none)
    with pytest.raises(UserError, match="home folder is not known"):
        store.folder()
