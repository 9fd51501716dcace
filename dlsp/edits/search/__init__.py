"""Search for the sites of an edit, by the edit, the syntax and the imports alone."""
