"""Cut an answer where it repeats the lines after the cursor's."""

from dlsp.completion.brackets import closes_own

LEAST = 4
"""Letters and digits that an overlap must have to be one, and not a coincidence."""


def cut_following_lines(text: str, line_before: str, rest: str, following: list[str]) -> str:
    """`text` up to the line that repeats the document's next line that is not blank.

    Lines are compared whole, with their indentation. A line that begins by closing a bracket opened in
    `text` is no repetition.
    """
    upcoming = next((line.rstrip() for line in following if line.strip()), None)
    start = 0
    for number, line in enumerate(text.split("\n")):
        is_whole = number > 0 or not (line_before + rest).strip()
        shown = line if number else line_before + line
        if is_whole and shown.rstrip() == upcoming and not closes_own(text, start):
            return text[:start]
        start += len(line) + 1
    return text


def cut_overlap(text: str, after: str) -> str:
    """`text` without an end, across a line's end at least, that is what `after` begins with."""
    for length in range(min(len(text), len(after)), LEAST, -1):
        if text.endswith(after[:length]):
            shared = after[:length]
            if "\n" in shared.rstrip() and sum(map(str.isalnum, shared)) >= LEAST:
                return text[: len(text) - length]
    return text
