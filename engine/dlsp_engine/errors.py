"""Errors whose text is meant for the user."""


class EngineError(Exception):
    """One clear sentence that says what to do."""
