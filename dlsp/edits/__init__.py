"""Next edits: the edit history, the sites where an edit should also happen, and what to write there."""
