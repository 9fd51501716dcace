"""Why a request was answered with nothing, on purpose."""

from enum import Enum


class SkipReason(Enum):
    """A reason for quiet; the value is what the log says."""

    UNKNOWN = "the document is not open"
    OUTSIDE = "the position is not in the document"
    IGNORED = "the file is excluded from suggestions"
    MISSING = "the model is not on this machine"
    LOADING = "the engine is loading"
    FAILED = "the engine could not answer"
    SLOW = "the engine took too long"
    STALE = "an edit or a newer request came first"
    EMPTY = "the model has nothing to add here"
    BROKEN = "the suggestion would break the file's syntax"
    REPEAT = "the model only repeats the text after the cursor"
    STUTTER = "the model says the same few characters again and again"
    OFF = "suggestions are off here"
    SNOOZED = "suggestions are snoozed"
    MANUAL = "suggestions come only when asked for here"
    BLANK = "the file is empty, and no other says what belongs in it"
    DELETED = "something was just deleted"
    MIDWORD = "the cursor is in the middle of a word"
    UNLIKELY = "a suggestion is seldom right at such a place"
    UNSURE = "the model is not sure enough"
    NEWLINE = "the line is complete"
    DISMISSED = "you sent this suggestion away"
