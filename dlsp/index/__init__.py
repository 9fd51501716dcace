"""Which names are defined where in a workspace: on disk, made and kept true by a process of its own."""
