"""A suggestion before brackets and quotes that the editor has closed by itself."""

from dlsp.completion.rest import cut_rest_of_line


def before_closers(text: str, line_before: str, closers: str) -> str:
    """`text` up to what stands after the cursor already, on its first line alone."""
    if not closers:
        return text
    return cut_rest_of_line(text.split("\n", 1)[0], line_before, closers)
