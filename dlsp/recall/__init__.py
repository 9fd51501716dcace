"""What the engine said about a document, kept: typing that agrees with it is answered at once."""
