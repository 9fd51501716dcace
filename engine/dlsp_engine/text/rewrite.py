"""The prompt of a rewrite: recent edits, and a window of a file that the model writes once more as it should become."""

from dataclasses import dataclass

from dlsp_engine.text.prompt import File, Prompt
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Rewrite:
    """A window of the file `path`: lines whose text is `text` now and was `before` when the latest edit began. The
    first `keep` lines stay as they are, but never the last one.

    `prefix` and `suffix` are what is shown of the file before and behind the window; `row` is the number of the
    window's first line in the file, counted from 0; `cursor` is where the cursor is or was last, in characters of
    `text`. Formats that others trained show them (`text.edit_formats`), dlsp's own does not.

    `files` are other files, `edits` are earlier edits as diffs, and `diagnostics` are messages about the window. A
    token of the window stands unless another one is more than `margin` nats likelier (`decode.rewriting`).

    Where that changes nothing, but at the place that is doubted most another token is likelier by more than `force`
    nats (less than `margin`, so a negative number as a rule), the other token is written there. None: never.
    """

    text: str
    before: str = ""
    path: str = ""
    keep: int = 0
    files: tuple[File, ...] = ()
    edits: tuple[File, ...] = ()
    diagnostics: tuple[str, ...] = ()
    margin: float = 0.0
    force: float | None = None
    prefix: str = ""
    suffix: str = ""
    row: int = 0
    cursor: int | None = None

    @property
    def body(self) -> str:
        """The text with one line break at its end: the others that end the window are never written anew."""
        return self.text.rstrip("\n") + "\n"

    @property
    def kept(self) -> str:
        """The lines that stay as they are."""
        return "".join(line + "\n" for line in self.body.split("\n")[:-2][: self.keep])

    def rest(self, tokenizer: Tokenizer) -> list[int]:
        """Return the tokens of the lines that may change, as they are now: the draft of the answer."""
        return tokenizer.encode(self.body[len(self.kept) :])

    def whole(self, answer: str) -> str:
        """Return the window's new text."""
        new, old = (self.kept + answer).rstrip("\n"), self.text.rstrip("\n")
        return new + self.text[len(old) :] if new or not old else ""


def rewrite_prompt(asked: Rewrite, tokenizer: Tokenizer) -> Prompt:
    """Return the prompt in dlsp's own format. Each part is a file of the repository format; those that a keystroke does
    not change come first: other files, earlier edits, the window before the edit. Then come the diagnostics and the
    window as it is, and last the lines of the new window that stay. Raises EngineError if no token separates files.
    """
    name = asked.path
    parts = [*asked.files, *asked.edits]
    if asked.before:
        parts.append(File(f"original/{name}", asked.before))
    if asked.diagnostics:
        parts.append(File(f"diagnostics/{name}", "\n".join(asked.diagnostics)))
    parts.append(File(f"current/{name}", asked.body))
    separator = tokenizer.template.separator()
    tokens: list[int] = [*tokenizer.template.start]
    for part in parts:
        tokens += [
            separator,
            *tokenizer.encode(part.path + "\n"),
            *tokenizer.encode(part.text.rstrip("\n") + "\n"),
        ]
    return Prompt([*tokens, separator, *tokenizer.encode(f"updated/{name}\n"), *tokenizer.encode(asked.kept)], b"")
