"""Errors whose text is meant for the user."""


class EngineError(Exception):
    """One clear sentence that says what to do."""


class Damaged(EngineError):
    """What was converted is not what it should be: made anew, it will be."""


MEMORY = "The engine ran out of memory: close other programs, or use a smaller model or file."


def out_of_memory(error: Exception) -> bool:
    """Whether memory was short, of which each library says in its own way."""
    said = f"{type(error).__name__}: {error}"
    return any(words in said for words in ("MemoryError", "can't allocate", "annot allocate memory"))
