"""Traps for next edits: real code with one rename made, the places that must follow it, and every other place of the
name, which must not change."""
