import pytest

from dlsp.api.completer import File, Gap
from dlsp.api.markers import FAMILIES, parse, special

BEFORE, AFTER = "def add(a, b):\n    return ", "\n\nprint(add(1, 2))\n"
GAP = Gap(BEFORE, AFTER)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.prefix)
def test_prefix_first(family: object) -> None:
    assert parse(f"{family.prefix}{BEFORE}{family.suffix}{AFTER}{family.middle}") == GAP  # type: ignore[attr-defined]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.prefix)
def test_suffix_first(family: object) -> None:
    assert parse(f"{family.suffix}{AFTER}{family.prefix}{BEFORE}{family.middle}") == GAP  # type: ignore[attr-defined]


def test_codestral_has_no_middle_marker() -> None:
    assert parse(f"[SUFFIX]{AFTER}[PREFIX]{BEFORE}") == GAP


def test_other_files_and_the_path() -> None:
    prompt = (
        "<|repo_name|>shop\n<|file_sep|>shop/a.py\nA = 1\n<|file_sep|>shop/b.py\nB = 2\n\n"
        f"<|file_sep|>shop/c.py\n<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>"
    )
    files = (File("shop/a.py", "A = 1\n"), File("shop/b.py", "B = 2\n"))
    assert parse(prompt) == Gap(BEFORE, AFTER, "shop/c.py", files)


def test_a_file_is_not_the_path() -> None:
    prompt = f"<file_sep>a.py\nA = 1\n<fim_prefix>{BEFORE}<fim_suffix>{AFTER}<fim_middle>"
    assert parse(prompt) == Gap(BEFORE, AFTER, None, (File("a.py", "A = 1\n"),))


def test_files_inside_codestrals_prefix() -> None:
    prompt = f"[SUFFIX]{AFTER}[PREFIX]+++++ a.py\nA = 1\n\n+++++ c.py\n{BEFORE}"
    assert parse(prompt) == Gap(BEFORE, AFTER, "c.py", (File("a.py", "A = 1\n"),))


def test_text_without_a_file_belongs_to_the_prefix() -> None:
    head = "# Language: python\n"
    assert parse(f"{head}<PRE> {BEFORE} <SUF>{AFTER} <MID>") == Gap(head + BEFORE, AFTER)


def test_text_behind_the_middle_was_typed_already() -> None:
    assert parse(f"<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>a +") == Gap(BEFORE + "a +", AFTER)


def test_blanks_around_the_markers() -> None:
    assert parse(f"<|fim_prefix|> {BEFORE} <|fim_suffix|>{AFTER} <|fim_middle|>") == GAP


@pytest.mark.parametrize(
    "text", ["", "print(1)\n", "<|fim_middle|>a<|fim_prefix|>b", "[PREFIX] alone", "<PRE> a <MID>"]
)
def test_no_template(text: str) -> None:
    assert parse(text) is None


def test_markers_that_no_answer_contains() -> None:
    assert special("<|file_sep|>")
    assert special("<|im_end|>")
    assert not special("\n\n")
    assert not special("<div>")
