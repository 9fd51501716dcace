"""What is never read into any context."""

from dlsp.ignore.rules import Rules
from dlsp.ignore.walk import walk

__all__ = ["Rules", "walk"]
