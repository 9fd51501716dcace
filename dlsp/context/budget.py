"""How much the model sees, in tokens. What a machine carries by default is decided in `models.sizing`."""

# Where nobody waits at the keyboard: scripts, measurements.
TOKENS = 1024

LEAST, MOST = 128, 8192


def within_bounds(budget: int) -> int:
    """A budget that makes sense: some lines at the least, at the most what the model reads well."""
    return min(max(budget, LEAST), MOST)
