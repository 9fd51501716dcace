"""Recipes of infill updates, as data."""
