import pytest

from dlsp.syntax.difference import difference


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        (b"abc", b"abc", (3, 3, 3)),
        (b"abc", b"abxc", (2, 2, 3)),
        (b"aaa", b"aaaa", (3, 3, 4)),
        (b"abcd", b"ad", (1, 3, 1)),
        (b"", b"abc", (0, 0, 3)),
        (b"abc", b"", (0, 3, 0)),
    ],
)
def test_the_smallest_edit(old: bytes, new: bytes, edits: tuple[int, int, int]) -> None:
    assert difference(old, new) == edits
    assert difference(old.decode(), new.decode()) == edits
