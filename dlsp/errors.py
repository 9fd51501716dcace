"""Errors shown to the user."""


class UserError(Exception):
    """One clear sentence that says what is wrong and what to do. Shown without a traceback."""
