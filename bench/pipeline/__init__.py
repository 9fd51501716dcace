"""Does anything on the way from the document to the suggestion cost quality? `python -m bench.pipeline`.

The same gaps twice: the model's own answer to the whole text around the gap, and what dlsp makes of it with its
context, its choice of where to end and its filters. Whole bodies go the way of `dlsp fill`.
"""
