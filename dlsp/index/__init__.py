"""The index: which names are defined where in a workspace. It is on disk, built and updated by a separate process."""
