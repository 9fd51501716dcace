"""The context budget in tokens. Its default per machine is decided in `models.sizing`."""

# The budget where nobody waits at the keyboard: scripts and measurements.
DEFAULT_TOKENS = 1024

MIN_TOKENS, MAX_TOKENS = 128, 8192


def within_bounds(budget: int) -> int:
    """The budget limited to a sensible range: at least a few lines, at most what the model handles well."""
    return min(max(budget, MIN_TOKENS), MAX_TOKENS)
