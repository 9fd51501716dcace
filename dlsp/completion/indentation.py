"""Indent an answer as the document is indented."""

import re

UNIT = 4
_LEAD = re.compile(r"^[ \t]+", re.MULTILINE)


def indented(text: str, before: str) -> str:
    """`text` with the document's tabs or blanks, and without the cursor's own indentation a second time."""
    line_before = before[before.rfind("\n") + 1 :]
    if not line_before.strip():
        text = _once(text, line_before, before)
    tabs, blanks = before.count("\n\t"), before.count("\n  ")
    if tabs > blanks:
        return _LEAD.sub(lambda lead: lead.group().expandtabs(UNIT).replace(" " * UNIT, "\t"), text)
    return _LEAD.sub(lambda lead: lead.group().expandtabs(UNIT), text) if blanks > tabs else text


def _once(text: str, line_before: str, before: str) -> str:
    """Without blanks at the start that would take the line deeper than the line above allows."""
    lead = len(text) - len(text.lstrip(" \t"))
    if not lead or not line_before:
        return text
    above = next((line for line in reversed(before.split("\n")[:-1]) if line.strip()), "")
    deepest = _columns(above) + (2 * UNIT if above.rstrip().endswith((":", "{", "(", "[", "=>", "do", "then")) else 0)
    return text[lead:] if _columns(line_before + text) > deepest else text


def _columns(line: str) -> int:
    line = line.split("\n", 1)[0].expandtabs(UNIT)
    return len(line) - len(line.lstrip())
