"""Errors whose text is meant for the user, and how a command ends with one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from safetensors import SafetensorError


class EngineError(Exception):
    """An error for the user. Its text is one clear sentence that says what to do."""


class Damaged(EngineError):
    """A converted file is damaged. Converting the model again mends it."""


MEMORY = "The engine ran out of memory: close other programs, or use a smaller model or file."


def out_of_memory(error: Exception) -> bool:
    """Whether `error` means that memory ran out, which each library words in its own way."""
    said = f"{type(error).__name__}: {error}"
    return any(words in said for words in ("MemoryError", "can't allocate", "annot allocate memory"))


@contextmanager
def exit_on_error(stopped: str = "Stopped.") -> Iterator[None]:
    """If what is done within fails for a reason that the user can change, end the command with status 1 and that reason
    as one sentence. Ctrl-C ends it with the sentence `stopped`.
    """
    try:
        yield
    except (EngineError, OSError, SafetensorError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(stopped)
