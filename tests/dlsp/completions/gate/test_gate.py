"""Manners: every silence has its reason, and the numbers stand for what they say."""

import json
from math import exp
from pathlib import Path

import pytest

from dlsp.completions.gate import gate
from dlsp.completions.gate.calibration import FILE, Calibration, Model, calibration, shift
from dlsp.completions.gate.features import Edit, Facts, kind_of_edit, of_completion, of_cursor, text_kind
from dlsp.completions.gate.learning import FILE_NAME, MAX_SHIFT, Learning
from dlsp.completions.types import SkipReason
from dlsp.context.parts import Context, Part


@pytest.mark.parametrize(
    ("removed", "text", "kind"),
    [
        (False, "a", Edit.TYPED),
        (False, "()", Edit.TYPED),
        (False, "\n    ", Edit.NEWLINE),
        (False, "\r\n", Edit.NEWLINE),
        (True, "", Edit.DELETED),
        (True, "name", Edit.TYPED),
        (False, "a = 1\nb = 2", Edit.PASTED),
        (False, "x" * 100, Edit.PASTED),
        (False, "", Edit.NONE),
    ],
)
def test_edits(removed: bool, text: str, kind: Edit) -> None:
    assert kind_of_edit(removed, text) is kind


@pytest.mark.parametrize(
    ("before", "path", "kind"),
    [
        ("x = 1", "a.py", "code"),
        ("x = 1  # so", "a.py", "comment"),
        ("x = '#'", "a.py", "code"),
        ('x = "so', "a.py", "string"),
        ('x = "so \\" # \\', "a.py", "string"),
        ("x = 1  # it's", "a.py", "comment"),
        ("x = 1  # so", "a.ipynb", "comment"),
        ("x = 'it\\'s'  # so", "a.py", "comment"),
        ('"""One.\n\nTwo', "a.py", "string"),
        ('"""One."""\nx', "a.py", "code"),
        ("let x; // so", "a.ts", "comment"),
        (" * so", "a.java", "comment"),
        ("fn f<'a>(x: &'a", "a.rs", "code"),
        ("Some words", "README.md", "prose"),
        ("-- so", "a.lua", "comment"),
    ],
)
def test_what_the_cursor_is_inside_of(before: str, path: str, kind: str) -> None:
    assert text_kind(before, "", path) == kind


@pytest.mark.parametrize(
    ("before", "language_id", "path", "kind"),
    [
        ("x = 1  # so", "python", "Untitled-1", "comment"),
        ("x = 1  # so", "shellscript", "run", "comment"),
        ("x = 1", "make", "Makefile", "code"),
        ("x = 1  # so", "python", "nb.ipynb", "comment"),
        ("Some words", "markdown", "nb.ipynb", "prose"),
        ("Some words", "plaintext", "Untitled-1", "prose"),
        ("Some words", "", "NOTES", "prose"),
        ("x = 1  # so", "plaintext", "a.py", "comment"),
    ],
)
def test_the_editor_says_what_the_language_is(before: str, language_id: str, path: str, kind: str) -> None:
    assert text_kind(before, language_id, path) == kind


def test_a_docstring_far_above_is_not_taken_for_code() -> None:
    before = '"""\n' + 18_000 * "a" + '\n"""\n' + 9_000 * "x\n"
    assert text_kind(before + "y = ", "", "a.py") == "code"


def test_switched() -> None:
    assert gate.switched_off("off", invoked=True, snoozed=False) is SkipReason.OFF
    assert gate.switched_off("manual", invoked=False, snoozed=False) is SkipReason.MANUAL
    assert gate.switched_off("manual", invoked=True, snoozed=True) is None
    assert gate.switched_off("auto", invoked=False, snoozed=True) is SkipReason.SNOOZED
    assert gate.switched_off("eager", invoked=False, snoozed=False) is None


def test_a_blank_file_says_nothing() -> None:
    def context(prefix: str, suffix: str, *others: Part) -> Context:
        return Context(others, (Part("a.py", 0, prefix, ""),), Part("a.py", 0, suffix, ""))

    assert gate.nothing_to_go_on(context("", "\n")) is SkipReason.BLANK
    assert gate.nothing_to_go_on(context("", "\n", Part("b.py", 0, "x = 1\n", ""))) is None
    assert gate.nothing_to_go_on(context("i", "\n")) is None
    assert gate.nothing_to_go_on(context("", "\nx = 1\n")) is None


def test_rules_before_asking() -> None:
    deleted = Facts("x = ", "", Edit.DELETED)
    assert gate.ask(deleted, "auto").skip is SkipReason.DELETED
    assert gate.ask(deleted, "eager").skip is None
    assert gate.ask(Facts("na", "me = 1", Edit.TYPED), "auto").skip is SkipReason.MIDWORD
    assert gate.ask(Facts("x = ", "", Edit.TYPED), "auto").skip is None


def test_what_is_shown() -> None:
    facts = Facts("x = ", "", Edit.TYPED)
    assert gate.show(facts, "1", [-0.01], "auto").skip is None
    unsure = gate.show(facts, "compute(a, b)", [-2.0, -3.0, -1.0], "auto")
    assert unsure.skip is SkipReason.UNSURE
    assert unsure.probability is not None
    assert gate.show(facts, "\n    y = 2", [-0.01], "eager").skip is SkipReason.NEWLINE
    by_key = gate.show(facts, "compute(a, b)", [-2.0, -3.0, -1.0], "manual")
    assert (by_key.skip, by_key.probability) == (None, unsure.probability)
    unknown = gate.show(facts, "1", [], "auto")
    assert (unknown.skip, unknown.probability) == (None, None)


def test_a_probability() -> None:
    model = Model(0.5, {"log_p": 1.0, "word": -0.5})
    assert model({"log_p": -1.0, "word": 1.0, "other": 9.0}) == pytest.approx(1 / (1 + exp(1.0)))
    assert model({"log_p": -1.0}, shift=0.5) == pytest.approx(0.5)
    assert model({"log_p": -1e9}) < 1e-9


def test_the_shipped_calibration_names_known_features_and_its_origin() -> None:
    facts = Facts("x = ", "")
    table = json.loads(FILE.read_text())
    assert table["origin"]
    assert set(table["ask"]["weights"]) <= set(of_cursor(facts))
    assert set(table["show"]["weights"]) <= set(of_completion(facts, "1", [-0.1]))
    shipped = calibration()
    assert isinstance(shipped, Calibration)
    for which in ("ask", "show"):
        assert set(shipped.least[which]) == {"auto", "eager"}
        assert shipped.least[which]["eager"] <= shipped.least[which]["auto"]


def test_learning_is_bounded_by_language_and_kept(state_folder: Path) -> None:
    learning = Learning()
    for _ in range(10):
        learning.saw("python", 0.6, right=False)
    assert learning.shift("python") == pytest.approx(-0.18)
    assert learning.shift("rust") == 0
    learning.save()
    other = Learning()
    assert other.shift("python") == pytest.approx(-0.18)
    for _ in range(1000):
        other.saw("python", 0.1, right=True)
    assert other.shift("python") == MAX_SHIFT
    other.save()
    assert json.loads((state_folder / FILE_NAME).read_text())["python"] <= MAX_SHIFT


def test_learning_settles_where_it_agrees_with_what_is_seen(state_folder: Path) -> None:
    learning, model = Learning(), Model(0.0, {})
    for number in range(2000):
        learning.saw("python", model({}, learning.shift("python")), right=number % 10 < 6)
    assert model({}, learning.shift("python")) == pytest.approx(0.6, abs=0.05)


def test_a_spoilt_file_is_as_none(state_folder: Path) -> None:
    (state_folder / FILE_NAME).write_text('{"python": "x"}')
    assert Learning().shift("python") == 0


def test_answers_of_published_weights_have_a_shift_of_their_own() -> None:
    published = calibration().published
    assert shift("qwen2.5-coder-0.5b", True) == 0, "the table was fitted on it"
    assert shift("qwen2.5-coder-0.5b", False) == published
    assert shift("qwen2.5-coder-1.5b", True) == published, "which has no update"
