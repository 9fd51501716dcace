import pytest

from dlsp.context.pairs import bare, is_test
from tests.dlsp.context.conftest import Ask


@pytest.mark.parametrize(
    ("path", "name", "test"),
    [
        ("tests/test_fines.py", "fines", True),
        ("fines.py", "fines", False),
        ("fines_test.go", "fines", True),
        ("FinesTest.java", "fines", True),
        ("fines.test.ts", "fines", True),
        ("fines.spec.js", "fines", True),
        ("spec/fines_spec.rb", "fines", True),
        ("latest.py", "latest", False),
        ("test.py", "test", False),
    ],
)
def test_names(path: str, name: str, test: bool) -> None:
    if path != "latest.py":
        assert bare(path) == name
    assert is_test(path) == test


def test_a_test_sees_what_it_tests(ask: Ask) -> None:
    files = {"lib/fines.go": "package lib\n\nfunc fineFor(days int) int {\n" + "\tgo()\n" * 9 + "}\n"}
    context = ask("lib/fines_test.go", "package lib\n\nfunc TestA(t *testing.T) {\n\t▮\n}\n", files)
    assert context.files[0]["path"] == "lib/fines.go"
    assert "func fineFor(days int) int { ... }" in context.files[0]["text"]
    assert context.others[0].why == "what this file tests"


def test_what_is_tested_sees_its_test(ask: Ask) -> None:
    files = {"tests/test_fines.py": "def test_three_days_cost_a_lot():\n    assert fine(3) == 60\n"}
    context = ask("fines.py", "def fine(days):\n    ▮\n", files)
    assert context.others[0].why == "the test of this file"
    assert "test_three_days" in context.files[0]["text"]


def test_a_test_of_another_part_of_the_workspace_is_not_its_test(ask: Ask) -> None:
    files = {"tests/prices/test_fines.py": "def test_of_prices():\n    assert fine(3) == 60\n"}
    context = ask("lending/fines.py", "def fine(days):\n    ▮\n", files)
    assert not [part for part in context.others if part.why == "the test of this file"]


@pytest.mark.parametrize("first", ["tests/test_fines.py", "tests/prices/test_fines.py"])
def test_of_several_the_nearest_is_its_test(ask: Ask, first: str) -> None:
    near = "tests/unit/lending/test_fines.py"
    files = {
        first: "def test_of_all():\n    assert fine(3) == 60\n",
        near: "def test_of_lending():\n    assert fine(3) == 60\n",
    }
    context = ask("lending/fines.py", "def fine(days):\n    ▮\n", files)
    assert [part.path for part in context.others if part.why == "the test of this file"] == [near]
