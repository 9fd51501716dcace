"""Model files: which there are (catalogue), where they lie (store), how they come (pull, sources)."""
