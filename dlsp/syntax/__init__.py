"""Syntax trees: the language of a document, incremental parsing, and its definitions."""
