"""Errors that are for the user's eyes."""


class UserError(Exception):
    """One clear sentence that says what is wrong and what to do. Shown as it is, without a traceback."""
