"""What other files in the context are worth: `python -m bench.cross_file`."""
