"""The user: who types on, who accepts, what is right, and when the next key comes first."""

import time

import pytest

from bench.replay.contender import Place, Shown, Work
from bench.replay.kept import KEPT_KEYS, KEPT_S, Kept
from bench.replay.scripts import Delete, Move, Script, Write
from bench.replay.user import TAKES, Keystroke, first_line, judged, play

TEXT = "def f(a):\n"
WRITTEN = "return a + 1\n    # done"


class Contender:
    """Shows what `says` gives for a place, after `seconds` of its own clock, which only its waiting moves."""

    def __init__(self, says=lambda place: "", seconds: float = 0) -> None:
        self.says, self.seconds = says, seconds
        self.quiet, self.work = "", Work()
        self.places: list[Place] = []
        self.clock = self.rested = 0.0

    def now(self) -> float:
        return self.clock

    async def open(self, script: Script) -> None:
        self.places.clear()

    async def act(self, place: Place) -> None:
        self.places.append(place)
        self.quiet = ""

    async def wait(self, seconds: float | None) -> Shown | None:
        if seconds is not None and self.seconds > seconds:
            self.clock += seconds
            return None
        self.clock += self.seconds
        text = self.says(self.places[-1])
        self.quiet = "" if text else "nothing"
        return Shown(text, memory=False) if text else None

    async def rest(self, seconds: float) -> None:
        self.rested += seconds


def script(*steps: Move | Delete | Write, text: str = TEXT) -> Script:
    return Script("x", "writing", "x", "", "x.py", text, steps)


WRITING = script(Move(len(TEXT)), Write(WRITTEN))


def knows(place: Place) -> str:
    """The rest of what is written, at any place."""
    return (TEXT + WRITTEN)[len(place.before) :]


@pytest.mark.parametrize(
    ("text", "rest", "verdict"),
    [
        ("return a", "return a\n    b", (True, True)),
        ("return a", "return a + 1", (True, True)),
        ("return b", "return a", (False, False)),
        ("return a\n    c", "return a\n    b", (True, False)),
        ("return a\n    b", "return a\n    b\nc", (True, True)),
        ("return\n    b", "return a\n    b", (False, False)),
        ("\n    b", "\n    b", (True, True)),
        ("return a", "", (False, False)),
        ("  ", "  x", (False, False)),
    ],
)
def test_right_is_what_comes_next(text: str, rest: str, verdict: tuple[bool, bool]):
    assert judged(text, rest) == verdict


def test_the_first_line_is_the_first_with_text():
    assert first_line("\n    a = 1  \nb") == "\n    a = 1"
    assert first_line("\n \n") == ""


async def test_without_suggestions_every_key_is_typed():
    contender = Contender()
    keystrokes = await play(WRITING, contender)
    assert contender.places[-1].before == TEXT + WRITTEN
    assert [keystroke.after for keystroke in keystrokes] == ["start", *["type"] * 12, "newline", *["type"] * 6]
    assert [keystroke.next for keystroke in keystrokes] == [*["type"] * 12, "newline", *["type"] * 6, "move"]
    assert not any(keystroke.accepted or keystroke.text for keystroke in keystrokes)


async def test_what_is_right_is_accepted_at_once():
    contender = Contender(knows)
    keystrokes = await play(WRITING, contender)
    assert contender.places[-1].before == TEXT + WRITTEN
    assert [keystroke.after for keystroke in keystrokes] == ["start", "accept"]
    assert keystrokes[0].accepted == len(WRITTEN)
    assert keystrokes[1].next == "move"


async def test_only_the_first_line_is_accepted_where_the_rest_is_wrong():
    contender = Contender(lambda place: "return a + 1\n    wrong" if place.before == TEXT else "")
    keystrokes = await play(WRITING, contender)
    assert keystrokes[0].right
    assert not keystrokes[0].whole
    assert keystrokes[0].accepted == len("return a + 1")
    assert contender.places[1] == Place(TEXT + "return a + 1", "", "return a + 1", 0, "accept")
    assert contender.places[-1].before == TEXT + WRITTEN


@pytest.mark.parametrize(
    ("text", "rest", "lines", "words"),
    [
        ("return a", "return a + 1", 8, 8),
        ("return a\n    c", "return a\n    b", 8, 8),
        ("return a * 2", "return a + 1", 0, len("return")),
        (" a * 2", " a + 1", 0, len(" a")),
        (" * 2", " + 1", 0, 0),
        ("hex(a)", "hexdump(a)", 0, len("hex")),
        ("()[0]", "()", 0, 0),
        ("\n    c = 1", "\n    c = 2", 0, len("\n    c")),
        ("return a", "", 0, 0),
        ("  ", "  x", 0, 0),
    ],
)
def test_what_users_take_by_one_key(text: str, rest: str, lines: int, words: int):
    assert {who: takes(text, rest) for who, takes in TAKES.items()} == {"lines": lines, "words": words, "nothing": 0}


async def test_who_takes_words_does_so_until_one_is_wrong_and_types_over_the_rest():
    wrong = "return a * 2"
    contender = Contender(lambda place: wrong[len(place.before) - len(TEXT) :] if place.before[10:] in wrong else "")
    keystrokes = await play(WRITING, contender, takes=TAKES["words"])
    assert [(one.after, one.text, one.accepted, one.again) for one in keystrokes[:5]] == [
        ("start", wrong, len("return"), False),
        ("accept", " a * 2", len(" a"), True),
        ("accept", " * 2", 0, True),
        ("type", "* 2", 0, True),
        ("type", None, 0, False),
    ]
    assert contender.places[-1].before == TEXT + WRITTEN


async def test_a_key_that_comes_first_cancels():
    contender = Contender(knows, seconds=60)
    keystrokes = await play(script(Move(len(TEXT)), Write("ab")), contender)
    assert [keystroke.took_s for keystroke in keystrokes] == [None, None, None]
    assert contender.places[-1].before == TEXT + "ab"


async def test_a_patient_user_waits():
    contender = Contender(knows, seconds=0.6)
    keystrokes = await play(script(Move(len(TEXT)), Write("ret")), contender, patient=True)
    assert keystrokes[0].took_s == 0.6


async def test_idle_time_is_the_contenders_to_skip():
    contender = Contender()
    began = time.monotonic()
    keystrokes = await play(WRITING, contender)
    waits = sum(keystroke.wait_s for keystroke in keystrokes)
    assert contender.rested == pytest.approx(waits, abs=0.02)
    assert time.monotonic() - began < waits


async def test_what_is_left_of_a_suggestion_is_no_new_one():
    wrong = "return a * 2"
    contender = Contender(lambda place: wrong[len(place.before) - len(TEXT) :] if place.before[10:] in wrong else "")
    keystrokes = await play(WRITING, contender)
    visible = [keystroke for keystroke in keystrokes if keystroke.text]
    assert len(visible) == len("return a ") + 1
    assert [keystroke.again for keystroke in visible] == [False, *[True] * (len(visible) - 1)]


async def test_an_editor_that_closes_brackets():
    contender = Contender()
    await play(script(Move(len(TEXT)), Write("f(a['b']) + ('\\n')\nit's [\n  c]")), contender, closing=True)
    lines = [place.before.rpartition("\n")[2] + "|" + place.closers for place in contender.places]
    assert lines[2:10] == [
        "f(|)",
        "f(a|)",
        "f(a[|])",
        "f(a['|'])",
        "f(a['b|'])",
        "f(a['b'|])",
        "f(a['b']|)",
        "f(a['b'])|",
    ]
    assert "it'|" in lines
    assert lines[-4:] == ["it's [|]", "  |", "  c|", "  c]|"]
    assert contender.places[-1].closers == ""


async def test_an_accepted_text_takes_the_place_of_the_closers_that_it_has():
    text = "f(a['b']) + 1"
    contender = Contender(lambda place: "b'])" if place.before.endswith("['") else "")
    await play(script(Move(len(TEXT)), Write(text)), contender, closing=True)
    before, after = contender.places[5:7]
    assert (before.closers, after.closers) == ("'])", "")
    assert (after.typed, after.before) == ("b'])", TEXT + "f(a['b'])")


async def test_after_deletions_it_says_what_is_next():
    contender = Contender()
    keystrokes = await play(script(Move(5), Delete(1), Delete(1), Write("g"), text="def f(a):"), contender)
    assert [(keystroke.after, keystroke.next) for keystroke in keystrokes] == [
        ("start", "delete"),
        ("delete", "delete"),
        ("delete", "type"),
        ("type", "move"),
    ]
    assert [place.before for place in contender.places] == ["def f", "def ", "def", "defg"]
    assert isinstance(keystrokes[0], Keystroke)


async def test_what_puts_back_what_was_just_deleted_is_a_reversal():
    def back(place: Place) -> str:
        return {"def ": "f(b)", "def g": "x"}.get(place.before, "")

    steps = (Move(5), Delete(1), Write("g"))
    keystrokes = await play(script(*steps, text="def f(a):"), Contender(back))
    assert [(keystroke.text, keystroke.reverses) for keystroke in keystrokes] == [
        (None, False),
        ("f(b)", True),
        ("x", False),
    ]


async def test_of_what_is_accepted_it_is_noted_what_is_still_there_later():
    accepted = Contender(lambda place: "one two" if place.before == TEXT else "")
    end = len(TEXT) + len("one two")
    steps = (Move(len(TEXT)), Write("one two"), Move(end), *[Delete(1)] * 3, Move(0), Write("x" * KEPT_KEYS))
    keystrokes = await play(script(*steps), accepted)
    assert keystrokes[0].accepted == len("one two")
    assert keystrokes[0].kept_keys == len("one ")
    assert {(one.kept_s, one.kept_keys) for one in keystrokes[1:]} == {(None, None)}


def test_kept_is_what_stands_when_time_and_keys_are_over_or_at_the_end():
    kept = Kept(10)
    kept.inserted(5, 4, accepted=0)
    kept.inserted(0, 3, accepted=None)
    kept.deleted(8, 1)
    kept.passed(KEPT_S - 1)
    kept.deleted(8, 1)
    kept.passed(1)
    kept.inserted(0, 2, accepted=1)
    kept.deleted(10, 2)
    assert kept.counts() == {0: {"kept_s": 2, "kept_keys": 0}, 1: {"kept_s": 2, "kept_keys": 2}}
