from dlsp.completions.anchor import MAX_TYPED_CHARACTERS, Anchor
from dlsp.context.build import build

BEFORE, AFTER = "def f(a):\n    ret", "\n\nprint(f(1))\n"
ANCHOR = Anchor(BEFORE, AFTER, build("f.py", BEFORE, AFTER))


def test_typing_extends_the_middle() -> None:
    assert ANCHOR.middle(ANCHOR.before, ANCHOR.after) == ""
    assert ANCHOR.middle(ANCHOR.before + "urn a", ANCHOR.after) == "urn a"
    assert ANCHOR.middle(ANCHOR.before + "urn a\r\n", ANCHOR.after) == "urn a\n"


def test_a_new_anchor_after_any_other_edit() -> None:
    assert ANCHOR.middle(ANCHOR.before[:-1], ANCHOR.after) is None
    assert ANCHOR.middle("#" + ANCHOR.before, ANCHOR.after) is None
    assert ANCHOR.middle(ANCHOR.before + "urn", ANCHOR.after + "#") is None


def test_a_new_anchor_after_much_typing() -> None:
    assert ANCHOR.middle(ANCHOR.before + "x" * MAX_TYPED_CHARACTERS, ANCHOR.after) is not None
    assert ANCHOR.middle(ANCHOR.before + "x" * (MAX_TYPED_CHARACTERS + 1), ANCHOR.after) is None
