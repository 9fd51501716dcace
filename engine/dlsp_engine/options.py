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
    schedule: str = "auto"
    draft: int = 4
    copy: bool = True
    rule: str = "threshold"
    threshold: float = 0.98
    canvas: int = 4
    end: str = "token"
    stop: tuple[str, ...] = ()
    max_tokens: int = 64
    temperature: float = 0.0
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
