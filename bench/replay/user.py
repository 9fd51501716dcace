"""Plays a script to a contender and notes what was shown at each key."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from bench.replay import pairs
from bench.replay.contender import Contender, Place, Shown
from bench.replay.kept import Kept
from bench.replay.pace import Pace
from bench.replay.scripts import Delete, Move, Script, Step, Write, common, keys
from dlsp.completions.closers import replaced

# What editors accept by the key for a word.
_WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")
# How many characters of a suggestion a user takes by one key, given that and what is still to be written.
Takes = Callable[[str, str], int]


@dataclass(frozen=True)
class Keystroke:
    """What happened after one key of the script, until the next.

    `next` is the script's next step; `after` is the key before, `start` for the first at a place. `wait_s` is the time
    to the next key, `took_s` the time until something was shown or it was certain that nothing would be; None if the
    next key came first. `right`: the first line is what comes next; `whole`: so is all the rest. `accepted` is the
    number of characters taken over, `left` the number still to be written here, and `agrees` how many of these the
    suggestion has right from its start. `reverses`: it puts back what was just deleted. `kept_s` and `kept_keys` are
    how many of the accepted characters still stand KEPT_S seconds and KEPT_KEYS keys later, or at the script's end.
    """

    next: str  # type, newline, delete, move
    after: str  # start, type, newline, delete, accept
    wait_s: float
    took_s: float | None
    quiet: str
    text: str | None = None
    memory: bool = False
    right: bool = False
    whole: bool = False
    again: bool = False  # the rest of what was shown at the key before
    accepted: int = 0
    agrees: int = 0
    left: int = 0
    reverses: bool = False
    kept_s: int | None = None  # None where nothing was accepted
    kept_keys: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def first_line(text: str) -> str:
    """The text up to the end of its first line that is not blank; "" if all is."""
    found = re.match(r"\s*\S[^\n]*", text)
    return found[0].rstrip() if found else ""


def judged(text: str, rest: str) -> tuple[bool, bool]:
    """Whether the first line of a suggestion, and all of it, is what comes next; `rest` is still to be written."""
    first = first_line(text)
    stands = bool(first) and rest.startswith(first)
    if text[len(first) :].strip():  # it ends its first line
        stands = stands and rest[len(first) :].lstrip(" \t")[:1] in ("\n", "")
    return stands, stands and rest.startswith(text.rstrip())


def lines(text: str, rest: str) -> int:
    """All of a suggestion, or its first line alone, where that is right."""
    right, whole = judged(text, rest)
    return len(text.rstrip() if whole else first_line(text)) if right else 0


def words(text: str, rest: str) -> int:
    """The same, and where the first line is wrong its first word, where that is right."""
    found = _WORD.match(text)
    return lines(text, rest) or (found.end() if found and rest.startswith(found[0]) else 0)


def nothing(_text: str, _rest: str) -> int:
    """Nothing of any suggestion: what is right is typed over, too."""
    return 0


TAKES: dict[str, Takes] = {"lines": lines, "words": words, "nothing": nothing}


async def play(
    script: Script, contender: Contender, patient: bool = False, takes: Takes = lines, closing: bool = False
) -> list[Keystroke]:
    """Every keystroke of a script. A patient user waits at each key until there is a suggestion or quiet.

    `closing`: the editor closes brackets and quotes as they are opened.
    """
    user = _User(script, contender, patient, takes, closing)
    await contender.open(script)
    for index, step in enumerate(script.steps):
        await user.do(step, script.steps[index + 1 :])
    return user.done()


class _User:
    def __init__(self, script: Script, contender: Contender, patient: bool, takes: Takes, closing: bool) -> None:
        self.keystrokes: list[Keystroke] = []
        self._contender, self._patient, self._takes = contender, patient, takes
        self._pace, self._closing = Pace(script.id), closing
        self._before, self._closers, self._after = "", "", script.text
        self._shown = ""  # what is left of the suggestion that was visible when the last key came
        self._deleted = ""  # what was deleted at the cursor and has not been typed again
        self._kept = Kept(len(script.text))

    async def do(self, step: Step, later: tuple[Step, ...]) -> None:
        if isinstance(step, Move):
            text = self._before + self._after
            self._before, self._after, self._deleted = text[: step.to], text[step.to :], ""
            await self._keystroke("move", "start", "", later, self._pace.rest())
        elif isinstance(step, Delete):
            self._deleted = self._before[-step.count :] + self._deleted
            self._before = self._before[: -step.count]
            self._kept.deleted(len(self._before), step.count)
            await self._keystroke("delete", "delete", "", later, self._pace.key(), deleted=step.count)
        else:
            await self._write(step.text, later)

    def done(self) -> list[Keystroke]:
        """All keystrokes, with what was kept of what was accepted."""
        kept = self._kept.counts()
        return [replace(one, **kept.get(number, {})) for number, one in enumerate(self.keystrokes)]

    async def _write(self, text: str, later: tuple[Step, ...]) -> None:
        typed = list(keys(text))
        times = self._pace.times(typed)
        starts = _starts(typed)
        done = 0
        while done < len(text):
            keystroke = self.keystrokes[-1]
            if keystroke.accepted:
                taken, key = text[done : done + keystroke.accepted], "accept"
            else:
                taken = typed[starts[done]] if done in starts else text[done]
                key = "newline" if taken.startswith("\n") else "type"
            done += len(taken)
            self._kept.inserted(len(self._before), len(taken), len(self.keystrokes) - 1 if key == "accept" else None)
            self._deleted = self._deleted.removeprefix(taken) if self._deleted.startswith(taken) else ""
            self._closers = self._closers_after(key, taken) if self._closing and done < len(text) else ""
            self._before += taken
            # A key that an accepted text ends within is typed in one stroke of its own.
            wait = times[starts[done]] if done in starts else self._pace.key()
            await self._keystroke(key, key, text[done:], later, wait, typed=taken)

    def _closers_after(self, key: str, taken: str) -> str:
        if key == "accept":
            return self._closers[replaced(taken, self._closers) :]
        return pairs.closers(taken, self._before, self._closers, self._after)

    async def _keystroke(
        self, key: str, after: str, rest: str, later: tuple[Step, ...], wait_s: float, typed: str = "", deleted: int = 0
    ) -> None:
        if not rest and later and isinstance(later[0], Write):
            rest = later[0].text
        following = "newline" if rest.startswith("\n") else "type" if rest else _kind(later)
        shown_before = self._shown
        began = self._contender.now()
        await self._contender.act(Place(self._before, self._after, typed, deleted, key, self._closers))
        shown = await self._contender.wait(None if self._patient else wait_s)
        took = self._contender.now() - began
        left = wait_s - took
        if left > 0 and not self._patient:
            await self._contender.rest(left)
        known = shown is not None or bool(self._contender.quiet)
        self._note(following, after, wait_s, took if known else None, shown, rest, shown_before)
        self._kept.passed(wait_s)

    def _note(
        self, following: str, after: str, wait_s: float, took: float | None, shown: Shown | None, rest: str, left: str
    ) -> None:
        always = {"next": following, "after": after, "wait_s": round(wait_s, 3)}
        always |= {"took_s": took if took is None else round(took, 4), "left": len(rest)}
        if shown is None or not shown.text.strip():
            facts = shown.facts if shown else {}
            self.keystrokes.append(Keystroke(**always, quiet=self._contender.quiet, facts=facts))
            self._shown = ""
            return
        right, whole = judged(shown.text, rest)
        accepted = self._takes(shown.text, rest)
        again = bool(left) and left.endswith(shown.text) and left != shown.text
        self._shown = shown.text
        agrees = common(shown.text, rest)
        back = self._deleted.rstrip()
        verdict = {"right": right, "whole": whole, "again": again, "accepted": accepted, "agrees": agrees}
        verdict["reverses"] = bool(back) and not right and shown.text.startswith(back)
        self.keystrokes.append(
            Keystroke(**always, quiet="", text=shown.text, memory=shown.memory, facts=shown.facts, **verdict)
        )


def _starts(typed: list[str]) -> dict[int, int]:
    """Offset in the text -> number of the key that begins there."""
    starts, at = {}, 0
    for number, key in enumerate(typed):
        starts[at] = number
        at += len(key)
    return starts


def _kind(later: tuple[Step, ...]) -> str:
    return "delete" if later and isinstance(later[0], Delete) else "move"


def read(entries: Iterable[dict[str, Any]]) -> list[Keystroke]:
    """Of a journal, which has them as dictionaries."""
    return [Keystroke(**entry) for entry in entries]
