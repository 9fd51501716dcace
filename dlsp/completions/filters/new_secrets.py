"""Cut before a key, token or password that the document does not have: it would move one from another file, or invent
one."""

from dlsp.ignore.values import brought_secret


def cut_new_secrets(text: str, before: str, after: str) -> str:
    """The whole lines of `text` before the first value that looks like a key and does not stand in the document."""
    at = brought_secret(text, before, after)
    return text if at is None else text[: max(0, text.rfind("\n", 0, at))]
