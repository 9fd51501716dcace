"""Vim with a plugin that asks `dlsp api` as llama.vim does."""

from pathlib import Path

import pytest

from tests.e2e.clients.conftest import address  # noqa: F401 - the server
from tests.e2e.provide import Missing
from tests.e2e.vim.provide import VERSION, vim


@pytest.fixture(scope="session")
def root() -> Path:
    """Vim; its tests count as not run where it cannot be had."""
    try:
        return vim()
    except Missing as why:
        pytest.skip(f"NOT RUN: no Vim {VERSION} here. {why}")
