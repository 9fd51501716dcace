"""Trains canvas adapters and infill updates, and prepares the corpus and the samples for that."""
