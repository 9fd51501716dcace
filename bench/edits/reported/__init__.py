"""Edits that leave something to be fixed which Pyright reports, made from the files of real packages.

A use is written whose import is missing, a name is misspelled, or an argument is given at one call alone: the package
has the answer. And there are edits whose errors nobody can know how to fix.
"""
