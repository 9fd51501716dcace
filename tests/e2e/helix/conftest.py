"""Helix with the real server: on a stub engine, and on the real one."""

from pathlib import Path

import pytest

from tests.e2e.helix.provide import VERSION, helix
from tests.e2e.provide import Missing


@pytest.fixture(scope="session")
def program() -> Path:
    """Helix; its tests count as not run where it cannot be had."""
    try:
        return helix()
    except Missing as why:
        pytest.skip(f"NOT RUN: no Helix {VERSION} here. {why}")
