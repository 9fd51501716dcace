"""Find where the body of an unwritten function goes, by indentation and brackets.

A file with a missing body seldom parses, so only its lines are examined.
"""

from dlsp.function.definition import end
from dlsp.function.gaps import NO_FUNCTION, Gap, gap, selected
from dlsp.function.placeholder import unwritten

__all__ = ["NO_FUNCTION", "Gap", "end", "gap", "selected", "unwritten"]
