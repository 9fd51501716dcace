"""Edits: their history, the sites where one should be carried on, and what to write there."""
