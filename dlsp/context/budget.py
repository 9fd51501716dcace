"""How much the model sees."""

TOKENS = 1024
"""The budget where the prompt is read at some 800 tokens a second, as on two cores; a GPU reads 4,096 at once."""
LEAST, MOST = 128, 8192


def within_bounds(budget: int) -> int:
    """A budget that makes sense: some lines at the least, at the most what the model reads well."""
    return min(max(budget, LEAST), MOST)
