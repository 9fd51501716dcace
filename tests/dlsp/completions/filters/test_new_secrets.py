import pytest

from dlsp.completions.filters import trim
from tests.dlsp.ignore.planted import LINES
from tests.dlsp.ignore.test_values import SHORT


@pytest.mark.parametrize("kind", sorted(LINES.keys() - SHORT))
def test_no_suggestion_brings_a_secret(kind: str) -> None:
    line, value = LINES[kind]
    before = "import os\n\nRETRIES = 3\n"
    for answer in (f"{line}\n", f"TIMEOUT_S = 4\n{line}\nx = 5\n"):
        made = trim(answer, before, "\n")
        assert value not in made
        assert made in ("", "TIMEOUT_S = 4")


def test_what_stands_in_the_document_may_stand_there_again() -> None:
    line, value = LINES["GitHub"]
    assert value in trim(f"use('{value}')\n", f"{line}\n\n\ndef f():\n    ", "\n")
