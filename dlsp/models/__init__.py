"""Model files: which ones exist (catalogue), where they are stored (store), how they are downloaded (pull, sources)."""
