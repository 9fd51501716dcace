"""Emacs with the real server: on a stub engine, and on the real one."""

from pathlib import Path

import pytest

from tests.e2e.emacs.provide import VERSION, emacs
from tests.e2e.provide import Missing


@pytest.fixture(scope="session")
def root() -> Path:
    """Emacs; its tests count as not run where it cannot be had."""
    try:
        return emacs()
    except Missing as why:
        pytest.skip(f"NOT RUN: no Emacs {VERSION} here. {why}")
