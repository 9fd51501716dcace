"""Next edits written by the model: windows of the file that it writes anew after the user's edit."""
