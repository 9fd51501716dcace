"""What a request may ask of the decoding."""

from dataclasses import dataclass

from dlsp_engine.errors import EngineError

MODES = ("autoregressive", "diffusion", "verified")
SCHEDULES = ("auto", "split", "merged")
RULES = ("threshold", "factor", "entropy")
ENDS = ("token", "line", "block", "body")


@dataclass(frozen=True)
class Options:
    """Validated on construction: EngineError names the field and what it takes."""

    mode: str = "verified"
    schedule: str = "auto"  # of `verified`: when a step drafts and when it verifies
    draft: int = 4  # of `verified`: masks of a canvas at most; 0 lays none
    copy: bool = True  # of `verified`: draft from repeated text too
    rule: str = "threshold"  # of `diffusion`: which positions are placed in a step; see `decode.acceptance`
    threshold: float = 0.98  # the rule's number
    canvas: int = 4  # of `diffusion`: positions of the canvas
    end: str = "token"  # where the gap ends; see `decode.ends`
    stop: tuple[str, ...] = ()  # texts that end it too, and are left out
    max_tokens: int = 64
    temperature: float = 0.0  # 0 is greedy
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (("mode", MODES), ("schedule", SCHEDULES), ("rule", RULES), ("end", ENDS)):
            if getattr(self, name) not in allowed:
                raise EngineError(f"'{name}' must be one of {', '.join(allowed)}.")
        for name, low, high in (
            ("draft", 0, 16),
            ("canvas", 1, 64),
            ("max_tokens", 1, 1024),
            ("temperature", 0, 4),
            ("threshold", 0, 16),
            ("seed", 0, 2**53),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise EngineError(f"'{name}' must be a number from {low} to {high}.")
        if len(self.stop) > 4 or not all(isinstance(text, str) and text for text in self.stop):
            raise EngineError("'stop' must hold at most 4 texts, none of them empty.")
