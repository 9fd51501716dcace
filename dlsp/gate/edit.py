"""The last thing that happened to a document, as far as manners care."""

from enum import Enum

MOST_TYPED = 24
"""Characters that come in at once and still count as typed: a word from a menu, what an input method composed."""


class Edit(Enum):
    NONE = "none"
    TYPED = "typed"
    NEWLINE = "newline"
    DELETED = "deleted"
    PASTED = "pasted"
    ACCEPTED = "accepted"


def edit(removed: bool, text: str) -> Edit:
    """What a change is that puts `text` in the place of nothing, or of something `removed`."""
    if not text:
        return Edit.DELETED if removed else Edit.NONE
    if not text.strip() and text[0] in "\r\n":
        return Edit.NEWLINE
    if len(text) <= MOST_TYPED and "\n" not in text and "\r" not in text:
        return Edit.TYPED
    return Edit.PASTED
