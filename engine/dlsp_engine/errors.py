"""Errors whose text is meant for the user."""


class EngineError(Exception):
    """One clear sentence that says what to do."""


class Damaged(EngineError):
    """What was converted is not what it should be: made anew, it will be."""
