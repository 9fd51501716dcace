"""The closing brackets and quotes that editors put behind the cursor, by VS Code's rules as far as they matter here."""

from dlsp.syntax.brackets import OPENERS, QUOTES

# What the character behind the cursor has to be for that, if there is one.
_BEFORE = " \t\n;:.,=}])>`"


def closers(key: str, before: str, behind: str, after: str) -> str:
    """The closers behind the cursor after a key; before it, the cursor stood between `before` and the closers `behind`,
    and these before `after`.

    A closer is typed over. Who breaks a line takes them away.
    """
    if key.startswith("\n"):
        return ""
    if behind.startswith(key):
        return behind[len(key) :]
    fits = (behind + after)[:1] in _BEFORE
    if fits and key in OPENERS:
        return OPENERS[key] + behind
    in_string = bool(set(behind) & set(QUOTES))
    if fits and key in QUOTES and not in_string and before[-1:] != key and not before[-1:].isalnum():
        return key + behind
    return behind
