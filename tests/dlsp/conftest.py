from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dlsp.stub_engine import StubEngine


@pytest.fixture
def stub(state_folder: Path) -> Iterator[StubEngine]:
    """A stub engine that dlsp finds running."""
    with StubEngine(state_folder) as engine:
        yield engine
