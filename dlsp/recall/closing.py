"""A suggestion before brackets and quotes that the editor has closed by itself."""

from dlsp.completion.rest import cut_rest_of_line, unmatched


def before_closers(text: str, line_before: str, closers: str) -> str:
    """`text` up to what stands after the cursor already: on its first line alone, but where that stands below."""
    if not closers:
        return text
    if closers[0] in "\r\n":
        closer = closers.strip()[:1]
        return (text[: unmatched(text, closer)] if closer else text).rstrip()
    return cut_rest_of_line(text.split("\n", 1)[0], line_before, closers)
