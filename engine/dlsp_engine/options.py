"""The decoding options of a request."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlsp_engine.errors import EngineError

if TYPE_CHECKING:
    from dlsp_engine.decode.constraint import Requirement

MODES = ("autoregressive", "diffusion", "verified")
SCHEDULES = ("auto", "split", "merged")
RULES = ("threshold", "factor", "entropy")
MAX_CONTEXT_TOKENS = 32_768  # of a prompt and its answer: what the models were trained on
MAX_STOPS, MAX_STOP_CHARACTERS = 16, 4096
ENDS = ("token", "line", "block", "body")
TEXT_END = "text"  # where an answer ends that fills no gap


@dataclass(frozen=True)
class Options:
    """How one request is decoded. Checked on construction: raises EngineError that names the field and the values it
    takes.
    """

    mode: str = "verified"
    schedule: str = "auto"  # for `verified`: when a step drafts and when it verifies
    draft: int = 4  # for `verified`: masks in a canvas at most; 0 for no canvas
    copy: bool = True  # for `verified`: also draft by copying repeated text
    rule: str = "threshold"  # for `diffusion`: which positions are placed in a step; see `decode.diffusion`
    threshold: float = 0.98  # for `diffusion`: the number that the rule takes
    canvas: int = 4  # for `diffusion`: positions in the canvas; a block checkpoint says it itself
    approximate_cache: bool = False  # for a checkpoint that sees the whole text: see `decode.whole`
    end: str = "token"  # where the gap ends; see `decode.ends`
    stop: tuple[str, ...] = ()  # texts that also end the gap; the answer leaves them out
    max_tokens: int = 64
    temperature: float = 0.0  # 0 is greedy
    top_p: float = 1.0  # above temperature 0: see `decode.sampling`, as for the next two
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0
    constraint: "Requirement | None" = None  # if it is `whole`, `end` and the text behind end nothing

    def __post_init__(self) -> None:
        for name, allowed in (("mode", MODES), ("schedule", SCHEDULES), ("rule", RULES), ("end", (*ENDS, TEXT_END))):
            if getattr(self, name) not in allowed:
                raise EngineError(f"'{name}' must be one of {', '.join(allowed)}.")
        for name, low, high in (
            ("draft", 0, 16),
            ("canvas", 1, 64),
            ("max_tokens", 1, MAX_CONTEXT_TOKENS),
            ("temperature", 0, 4),
            ("top_p", 0, 1),
            ("top_k", 0, 2**20),
            ("min_p", 0, 1),
            ("threshold", 0, 16),
            ("seed", 0, 2**53),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise EngineError(f"'{name}' must be a number from {low} to {high}.")
        if len(self.stop) > MAX_STOPS or not all(
            isinstance(text, str) and 1 <= len(text) <= MAX_STOP_CHARACTERS for text in self.stop
        ):
            raise EngineError(f"'stop' must hold at most {MAX_STOPS} texts of 1 to {MAX_STOP_CHARACTERS} characters.")
