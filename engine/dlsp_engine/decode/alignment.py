"""Where a new text stands in the old one that it is written after: which old token comes next."""

from dataclasses import dataclass, replace

SURE_TOKENS = 3  # that agree in a row, after which the new text counts as being back in the old one
END_TOKENS = 32  # that agree in a row up to the end of the old text, after which the new text has ended as well
MAX_MATCH_TOKENS = 8  # that are compared to find where the old text goes on
SEARCHED_TOKENS = 256  # of the old text, behind where it was left


@dataclass(frozen=True)
class Alignment:
    """`at` is the index in `old` of the token that comes next if the old text goes on; `len(old)` means that it ends.
    `agreed` is how many tokens before it agree in a row; 0 if `at` is a guess. At the start it is END_TOKENS: all of
    the new text agrees. While fewer than SURE_TOKENS agree, `left` is where the new text left the old one, and
    `written` are the new tokens since then.

    The value depends on the new text's tokens alone, so it is the same however they were drafted.
    """

    old: tuple[int, ...]
    at: int = 0
    agreed: int = END_TOKENS
    left: int = 0
    written: tuple[int, ...] = ()

    @property
    def sure(self) -> bool:
        return self.agreed >= SURE_TOKENS

    @property
    def unchanged(self) -> bool:
        """Whether all of the new text agrees with the old one."""
        return self.agreed == END_TOKENS + self.at

    @property
    def ended(self) -> bool:
        """Whether the new text has come to the end of the old one: what the model would write next stands behind it."""
        return 0 < len(self.old) == self.at and self.agreed >= END_TOKENS

    def after(self, token: int) -> "Alignment":
        """Return the alignment after one more token of the new text."""
        agrees = self.at < len(self.old) and self.old[self.at] == token
        if agrees and self.agreed >= SURE_TOKENS - 1:
            return Alignment(self.old, self.at + 1, self.agreed + 1)
        left = self.at if self.sure else self.left
        moved = replace(self, left=left, written=((*self.written, token) if not self.sure else (token,)))
        if agrees and self.agreed:
            return replace(moved, at=self.at + 1, agreed=self.agreed + 1)
        at, agreed = moved._resumed()
        return replace(moved, at=at, agreed=agreed)

    def _resumed(self) -> tuple[int, int]:
        """Return where the old text goes on most likely, and how many tokens speak for it: behind the longest match of
        the last tokens, the first such; with no match, as if token had been replaced by token.
        """
        old, written = self.old, self.written[-MAX_MATCH_TOKENS:]
        best, most = min(len(old), self.left + len(self.written)), 0
        for end in range(self.left + 1, min(len(old), self.left + SEARCHED_TOKENS) + 1):
            length = 0
            while length < min(len(written), end - self.left) and old[end - 1 - length] == written[-1 - length]:
                length += 1
            if length > most:
                best, most = end, length
        return best, most
