"""The body of a function that is still to be written: where it goes, found by indentation and brackets.

A file with a hole in it seldom parses, so this looks at lines alone.
"""

from dlsp.function.definition import end
from dlsp.function.gaps import NO_FUNCTION, Gap, gap, selected
from dlsp.function.placeholder import unwritten

__all__ = ["NO_FUNCTION", "Gap", "end", "gap", "selected", "unwritten"]
