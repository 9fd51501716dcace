"""What the user edited lately: texts, their differences, and edits grouped from keystrokes."""
