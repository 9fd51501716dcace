"""What a fit of the gate learns from: the answers of a replay in which each was shown and none accepted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.journal import Journal
from bench.replay.user import Keystroke, first_line, read
from dlsp.completions.gate.features import Facts, Features, of_line
from dlsp.completions.gate.parts import parts

CONTENDER = "dlsp:suggest=eager:gate=open"


@dataclass(frozen=True)
class Offer:
    """What could have been shown at a key, and whether it would have been right: so many characters of a line."""

    features: Features
    length: int
    right: bool


@dataclass(frozen=True)
class Answered:
    """A key of a script at which the engine had an answer: parts of its first line, the shortest first, and then the
    whole; `left` characters were still to be written, of which the answer has the first `agrees`.
    """

    script: str
    left: int
    agrees: int
    offers: tuple[Offer, ...]


@dataclass(frozen=True)
class Samples:
    """Features by name [samples, features], whether each was right, the script that each is from, what each weighs."""

    names: list[str]
    features: np.ndarray
    right: np.ndarray
    groups: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Seen:
    """What a user would have seen: suggestions, right ones among them, and the characters of these."""

    number: int
    right: int
    characters: int


def places(journal: Journal) -> list[Answered]:
    """In the order of typing, script by script."""
    return [
        Answered(key, keystroke.left, keystroke.agrees, tuple(_offers(keystroke, features)))
        for key, keystroke in _keystrokes(journal)
        if keystroke.text and (features := _features(keystroke))
    ]


def asked(journal: Journal) -> list[Answered]:
    """The keys at which the engine was asked, with what was known before: right where its answer was."""
    return [
        Answered(key, keystroke.left, 0, (Offer(features, 0, keystroke.right),))
        for key, keystroke in _keystrokes(journal)
        if not keystroke.again and not keystroke.memory and (features := _features(keystroke))
    ]


def samples(found: Sequence[Answered], names: Sequence[str] = ()) -> Samples:
    """All offers, those of a place weighing 1 together; with these features, or with all that any of them has."""
    offers = [(place, offer) for place in found for offer in place.offers]
    columns = list(names) or sorted({name for _, offer in offers for name in offer.features})
    table = [[offer.features.get(name, 0.0) for name in columns] for _, offer in offers]
    return Samples(
        columns,
        np.array(table, dtype=float).reshape(len(offers), len(columns)),
        np.array([offer.right for _, offer in offers], dtype=float),
        np.array([place.script for place, _ in offers]),
        np.array([1 / len(place.offers) for place, _ in offers]),
    )


def shown(found: Sequence[Answered], predicted: np.ndarray, least: float) -> Seen:
    """Play the scripts again: at each place the longest offer that is predicted to be right with `least` is shown, and
    accepted where it is. `predicted` is of all offers in order.
    """
    number = right = characters = at = 0
    script, left, until = "", 0, 0
    for place in found:
        chances = predicted[at : at + len(place.offers)]
        at += len(place.offers)
        if place.script != script or place.left > left:
            until = place.left  # another text is being written
        script, left = place.script, place.left
        likely = np.flatnonzero(chances >= least)
        if left > until or not len(likely):
            continue
        offer = place.offers[likely[-1]]
        number, right = number + 1, right + offer.right
        characters += offer.length * offer.right
        # What is accepted need not be typed; over what is wrong one types as long as it agrees.
        until = left - (offer.length if offer.right else place.agrees + 1)
    return Seen(number, right, characters)


def _keystrokes(journal: Journal) -> Iterator[tuple[str, Keystroke]]:
    for key, entry in journal.entries.items():
        if key.startswith(f"{CONTENDER} "):
            for keystroke in read(entry["moments"]):
                yield key, keystroke


def _features(keystroke: Keystroke) -> Features | None:
    return keystroke.facts.get("decision", {}).get("features")


def _offers(keystroke: Keystroke, features: Features) -> Iterator[Offer]:
    assert keystroke.text
    line, (before, after) = first_line(keystroke.text), keystroke.facts.get("line", ("", ""))
    inside = next((each for each in ("comment", "string", "prose") if features.get(each)), "code")
    for part, log_p in parts(Facts(before, after, inside=inside), line, keystroke.facts.get("tokens", ())):
        yield Offer(features | of_line(part, log_p, is_part=True), len(part), keystroke.agrees >= len(part))
    yield Offer(features, len(line), keystroke.right)
