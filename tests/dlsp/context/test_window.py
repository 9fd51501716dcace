from dlsp.context.window import Window, window


def test_small_files_are_seen_whole() -> None:
    assert window("a\nb", "c\nd\n") == Window("a\nb", "c\nd\n")


def test_cut_at_line_borders() -> None:
    assert window("first\nsecond\nthi", "rd\nfourth\nfifth\n", 12, 12) == Window("second\nthi"[-10:], "rd\nfourth\n")


def test_a_line_that_just_fits_is_kept() -> None:
    assert window("one\ntwo\n", "", 4, 4).prefix == "two\n"
    assert window("", "one\ntwo\n", 4, 4).suffix == "one\n"


def test_long_lines_are_cut_inside() -> None:
    assert window("x" * 50, "y" * 50, 10, 5) == Window("x" * 10, "y" * 5)
    assert window("x" * 50 + "\n", "", 10, 5).prefix == "x" * 9 + "\n"


def test_line_endings_are_plain() -> None:
    assert window("a\r\nb\rc", "\r\nd") == Window("a\nb\nc", "\nd")


def test_lone_surrogates_do_not_reach_the_engine() -> None:
    assert window("a\ud83db", "").prefix == "a?b"
