"""One file a dialect: its paths, the fields that it reads, and the form of its replies and errors."""
