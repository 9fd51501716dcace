"""Edits carried on: `python -m bench.edits`."""
