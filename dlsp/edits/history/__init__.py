"""The edit history: documents' texts, their differences, and keystrokes grouped into edits."""
