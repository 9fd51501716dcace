"""Syntax trees of documents: which language, an incremental parse, the definitions in it."""
