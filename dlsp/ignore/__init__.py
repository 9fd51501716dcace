"""Ignore rules: which files are never read into any context."""

from dlsp.ignore.rules import Rules
from dlsp.ignore.verdicts import Verdicts
from dlsp.ignore.walk import folders, walk

__all__ = ["Rules", "Verdicts", "folders", "walk"]
