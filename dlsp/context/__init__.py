"""What the model sees of a document."""
