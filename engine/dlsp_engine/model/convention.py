"""How a checkpoint is decoded: causally, in blocks, or as a whole."""

from dataclasses import dataclass, fields
from typing import Any

from dlsp_engine.errors import EngineError

CAUSAL, BLOCK, WHOLE = "causal", "block", "whole"
STATED = "convention.json"  # in a checkpoint's folder: what its own files do not say
MAX_BLOCK = 256  # positions, all of which are in a step


@dataclass(frozen=True)
class Convention:
    """How a checkpoint was trained to see and to predict text. It belongs to the checkpoint; nothing of it is guessed.

    `attention` says what a position sees:

    - `causal`: itself and the positions before it
    - `block`: positions 0 … `block` - 1 are a block, the next `block` positions another, and so on. A position sees
      its whole block and all blocks before it.
    - `whole`: all positions, those of the text behind the gap too

    `shifted`: the row of a position predicts the token at the next position, as in causal models; otherwise the token
    at its own. `mask` is the token of a position that is still open; causal models need none.

    For blocks: within a block, runs of `sub_block` positions are filled one after the other; 0 for the block at once.
    `edit` is the probability above which another token replaces one that was placed in the block; None if placed tokens
    stay.

    `suffix_first`: in the prompt of a gap of a causal checkpoint the text behind it stands before the text in front of
    it, though the checkpoint's tokens are those of a format that has them the other way round, as Mellum's are.

    For the whole: a position that predicts `expand` becomes two masks, and one that predicts `delete` is removed.
    `end` is the token that stands behind the whole text. All three are None if there is no such token.
    """

    attention: str = CAUSAL
    shifted: bool = True
    mask: int | None = None
    block: int = 0
    sub_block: int = 0
    edit: float | None = None
    expand: int | None = None
    delete: int | None = None
    end: int | None = None
    suffix_first: bool = False

    def __post_init__(self) -> None:
        """Raises EngineError if the fields contradict each other."""
        if self.attention not in (CAUSAL, BLOCK, WHOLE):
            raise EngineError(f"A checkpoint's attention is {CAUSAL}, {BLOCK} or {WHOLE}, not '{self.attention}'.")
        if self.attention == CAUSAL:
            if not self.shifted or self.block or self.mask is not None:
                raise EngineError("A causal checkpoint has shifted logits, and neither masks nor blocks.")
        elif self.mask is None:
            raise EngineError("A diffusion checkpoint needs its mask token: pass the token's id.")
        if self.attention == BLOCK and not 2 <= self.block <= MAX_BLOCK:
            raise EngineError(f"A block checkpoint needs the number of positions in a block: pass 2 to {MAX_BLOCK}.")
        if self.attention != BLOCK and (self.block or self.sub_block or self.edit is not None):
            raise EngineError("Only a block checkpoint has blocks, and edits in them.")
        if self.suffix_first and self.attention != CAUSAL:
            raise EngineError("Only a causal checkpoint has a gap's suffix first.")
        if self.sub_block and (self.sub_block < 0 or self.block % self.sub_block):
            raise EngineError(f"A block of {self.block} positions does not divide into runs of {self.sub_block}.")
        if self.attention != WHOLE and not self.expand is self.delete is self.end is None:
            raise EngineError("Only a checkpoint that sees the whole text expands, deletes, or has a token behind it.")

    @classmethod
    def stated(cls, values: dict[str, Any], vocab: int) -> "Convention":
        """From the object in STATED, of a checkpoint with `vocab` tokens. Raises EngineError if it is none."""
        known = [field.name for field in fields(cls)]
        for name, value in values.items():
            if name not in known:
                raise EngineError(f"A convention has no '{name}': it has {', '.join(known)}.")
            if name in ("mask", "expand", "delete", "end"):
                fit = value is None or (type(value) is int and 0 <= value < vocab)
            elif name == "edit":
                fit = value is None or (type(value) in (int, float) and 0 <= value <= 1)
            else:
                fit = type(value) is {"attention": str, "shifted": bool, "suffix_first": bool}.get(name, int)
            if not fit:
                raise EngineError(f"A convention's '{name}' cannot be {str(value)[:40]}.")
        return cls(**values)

    @property
    def causal(self) -> bool:
        return self.attention == CAUSAL

    @property
    def modes(self) -> tuple[str, ...]:
        """The decoding modes that the checkpoint is able to do."""
        return ("autoregressive", "diffusion", "verified") if self.causal else ("diffusion",)

    def demand(self, mode: str) -> None:
        """Raise EngineError if the checkpoint is not able to do this mode."""
        if mode not in self.modes:
            raise EngineError(
                f"This checkpoint is a diffusion model, which cannot be read from left to right, so there is no "
                f"'{mode}' answer of it: set 'mode' to 'diffusion'."
            )

    def demand_causal(self, task: str) -> None:
        """Raise EngineError if the checkpoint is not causal, and so not able to do `task`."""
        if not self.causal:
            raise EngineError(
                f"This checkpoint is a diffusion model, which cannot {task}, since that reads text from left to right: "
                f"choose a causal model for it."
            )

    def cacheable(self, tokens: int) -> int:
        """How many of the first `tokens` tokens have keys and values that no later token changes."""
        if self.attention == WHOLE:
            return 0
        return tokens // self.block * self.block if self.attention == BLOCK else tokens


CAUSAL_CONVENTION = Convention()
