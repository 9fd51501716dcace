"""Cut before a key, token or password that is not in the document: it would be copied from another file, or
invented."""

from dlsp.ignore.values import brought_secret


def cut_new_secrets(text: str, before: str, after: str) -> str:
    """The whole lines of `text` before the first value that looks like a secret and is not in the document."""
    at = brought_secret(text, before, after)
    return text if at is None else text[: max(0, text.rfind("\n", 0, at))]
