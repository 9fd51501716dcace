"""The anchor: the prompt that a document's engine session was prefilled with; typing after it extends the middle."""

from dataclasses import dataclass

from dlsp.context.parts import Context, Window, plain
from dlsp.syntax.brackets import closes_alone

# Typed characters (about 64 tokens) after which a new anchor is worth its prefill.
MAX_TYPED_CHARACTERS = 256


@dataclass(frozen=True)
class Anchor:
    """The text around the cursor when the session began, and the context chosen for it."""

    before: str
    after: str
    context: Context

    @property
    def window(self) -> Window:
        return self.context.window

    def middle(self, before: str, after: str) -> str | None:
        """The text typed since the anchor; None if the document changed elsewhere or MAX_TYPED_CHARACTERS is exceeded.

        Brackets and quotes that the editor auto-inserted after the cursor are left for the model to write.
        """
        closers = after[: max(0, len(after) - len(self.after))]
        if not after.endswith(self.after) or not closes_alone(closers) or not before.startswith(self.before):
            return None
        typed = before[len(self.before) :]
        return plain(typed) if len(typed) <= MAX_TYPED_CHARACTERS else None
