"""One file a section; each gives None where there are no results for it."""
