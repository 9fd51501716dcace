"""The anchor: the prompt that a document's session was prefilled with, and the typing since."""

from dataclasses import dataclass

from dlsp.context.parts import Context, Window, plain
from dlsp.syntax.brackets import closes_alone

# Characters typed (about 64 tokens) after which a new anchor is worth its prefill.
MAX_TYPED_CHARACTERS = 256


@dataclass(frozen=True)
class Anchor:
    """The text around the cursor when the session began, and the context that was chosen for it."""

    before: str
    after: str
    context: Context

    @property
    def window(self) -> Window:
        return self.context.window

    def middle(self, before: str, after: str) -> str | None:
        """What was typed since; None if the text changed elsewhere, or so much that a new anchor is due.

        Brackets and quotes that the editor has inserted after the cursor are left for the model to write.
        """
        closers = after[: max(0, len(after) - len(self.after))]
        if not after.endswith(self.after) or not closes_alone(closers) or not before.startswith(self.before):
            return None
        typed = before[len(self.before) :]
        return plain(typed) if len(typed) <= MAX_TYPED_CHARACTERS else None
