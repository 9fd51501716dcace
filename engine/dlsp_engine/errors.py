"""Errors whose text is meant for the user."""


class EngineError(Exception):
    """An error for the user. Its text is one clear sentence that says what to do."""


class Damaged(EngineError):
    """A converted file is damaged. Converting the model again mends it."""


MEMORY = "The engine ran out of memory: close other programs, or use a smaller model or file."


def out_of_memory(error: Exception) -> bool:
    """Whether `error` means that memory ran out, which each library words in its own way."""
    said = f"{type(error).__name__}: {error}"
    return any(words in said for words in ("MemoryError", "can't allocate", "annot allocate memory"))
