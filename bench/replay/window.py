"""What llama.vim sends of a document, and what it leaves of an answer."""

from dataclasses import dataclass

from bench.replay.contender import Place

# Lines of the window.
PREFIX, SUFFIX = 256, 64


@dataclass(frozen=True)
class Window:
    """What is sent of a document. `above` and `below` are whole lines, `line` the cursor's up to it."""

    above: tuple[str, ...]
    line: str
    rest: str
    below: tuple[str, ...]

    def key(self, dropped: int = 0, cut: int = 0) -> str:
        """Under what an answer is kept; without the first lines, or the last characters before the cursor."""
        before = "".join(f"{each}\n" for each in self.above[dropped:]) + self.line
        return before[: len(before) - cut] + "\0" + self.rest + "\n" + "\n".join(self.below)


def window(place: Place, inserted: str = "") -> Window:
    """The window around the cursor, as if `inserted` had been accepted."""
    lines, rest = (place.before + inserted).split("\n"), place.after.partition("\n")[0]
    above, line = lines[:-1], lines[-1]
    below = place.after.split("\n")[1:]
    if inserted:
        line, rest = line + rest, ""  # it stands at the end of the line then
    elif not (line + rest).strip():
        line = rest = ""
    return Window(tuple(above[-PREFIX:]), line, rest, tuple(below[:SUFFIX]))


def trimmed(text: str, place: Place) -> str:
    """Without what repeats the text that follows, and the indentation that stands on a blank line already."""
    rest, *below = place.after.split("\n")
    line = place.before.rpartition("\n")[2]
    said = text.rstrip("\n").split("\n")
    if not (line + rest).strip():
        lead = min(len(said[0]) - len(said[0].lstrip()), len(line + rest))
        said[0] = said[0][lead:]
        line = line[:lead]
    if said == [rest] or (said[0] == "" and said[1:] == below[: len(said) - 1]):
        return ""
    while below and not below[0].strip():
        below.pop(0)
    if below and line + said[0] == below[0]:
        nothing_new = len(said) == 2 and len(below) > 1 and below[1].startswith(said[1])
        if len(said) == 1 or nothing_new or said[1:] == below[1 : len(said)]:
            return ""
    return "\n".join(said)
