"""Selected lines rewritten by an instruction: the lines to change are masked, the rest is held."""
