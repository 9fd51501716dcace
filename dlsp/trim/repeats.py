"""Cut an answer where it begins to repeat the text after the cursor."""

CLOSERS = {")": "(", "]": "[", "}": "{"}
QUOTES = "\"'`"


def cut_rest_of_line(text: str, line_before: str, rest: str) -> str:
    """`text` without what stands after the cursor on its line already.

    That is a bracket or quote that ends what began before the cursor, if `rest` begins with it; else the
    rest of the line as a whole, at the end of the answer's first line.
    """
    rest = rest.rstrip()
    if not rest:
        return text
    if rest[0] in CLOSERS:
        text = text[: _unmatched(text, rest[0])]
    elif rest[0] in QUOTES and _count(line_before, rest[0]) % 2 == 1:
        text = text[: _quote(text, rest[0])]
    first = text.split("\n", 1)[0].rstrip()
    if first.endswith(rest) and not _matched(first, len(first) - len(rest)):
        return first.removesuffix(rest)
    return text


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
        if is_whole and shown.rstrip() == upcoming and not _matched(text, start):
            return text[:start]
        start += len(line) + 1
    return text


def _unmatched(text: str, closer: str) -> int:
    """Where `closer` first closes something that `text` did not open; the length of `text` if nowhere."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == CLOSERS[closer]) - (char == closer)
        if depth < 0:
            return at
    return len(text)


def _matched(text: str, at: int) -> bool:
    """Whether what stands at `at`, blanks aside, is a bracket that closes one opened in `text`."""
    closer = text[at:].lstrip()[:1]
    if closer not in CLOSERS:
        return False
    depth = 0
    for char in text[: text.index(closer, at)]:
        depth = max(0, depth + (char == CLOSERS[closer]) - (char == closer))
    return depth > 0


def _quote(text: str, quote: str) -> int:
    """Where `text` first has `quote`, not escaped; the length of `text` if nowhere."""
    return next((at for at, char in enumerate(text) if char == quote and not _escaped(text, at)), len(text))


def _count(text: str, quote: str) -> int:
    return sum(char == quote and not _escaped(text, at) for at, char in enumerate(text))


def _escaped(text: str, at: int) -> bool:
    """Whether the character at `at` stands after an odd number of backslashes."""
    ahead = text[:at]
    return (len(ahead) - len(ahead.rstrip("\\"))) % 2 == 1
