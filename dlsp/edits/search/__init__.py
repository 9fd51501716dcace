"""Where an edit may have to follow, by the edit, the syntax and the imports alone."""
