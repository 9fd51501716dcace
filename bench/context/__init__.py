"""How long the index and the context take: `python -m bench.context`."""
