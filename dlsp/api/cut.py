"""Where an answer ends by a client's own rules: its stop texts, and the least indentation of its lines."""


class Cut:
    """Finds the end in a text that grows. `stops` are texts before which the answer ends, any number of them. From its
    second line on, a line that is not blank and is indented by less than `indent` columns ends it."""

    def __init__(self, stops: tuple[str, ...] = (), indent: int = 0) -> None:
        self._stops = tuple(each for each in stops if each)
        self._indent = indent

    def end(self, text: str) -> tuple[int | None, str]:
        """The offset at which the answer ends, None if it goes on, and the stop text found there."""
        found = [(at, word) for word in self._stops if (at := text.find(word)) >= 0]
        end, word = min(found, default=(None, ""))
        left = self._left(text)
        return (left, "") if left is not None and (end is None or left < end) else (end, word)

    def settled(self, text: str) -> int:
        """How much of a text that goes on can be sent: what follows may turn the rest into an end."""
        open_at = [at for word in self._stops if (at := _begun(text, word)) is not None]
        if self._indent:
            line = text.rfind("\n")
            if line >= 0 and not text[line + 1 :].strip():
                open_at.append(line)
        return min(open_at, default=len(text))

    def _left(self, text: str) -> int | None:
        """The offset of the line end before the first line that is indented too little."""
        at = text.find("\n") if self._indent else -1
        while at >= 0:
            line = text[at + 1 :].split("\n", 1)[0]
            if line.strip() and len(line) - len(line.lstrip()) < self._indent:
                return at
            at = text.find("\n", at + 1)
        return None


def _begun(text: str, word: str) -> int | None:
    """The offset from which `text` ends with a beginning of `word`, None if it does not."""
    for length in range(min(len(word) - 1, len(text)), 0, -1):
        if text.endswith(word[:length]):
            return len(text) - length
    return None
