"""The ways of filling a gap that a run compares, by name."""

from typing import Any

from dlsp.errors import UserError
from dlsp.settings.schema import STEERS


def parse(variant: str) -> dict[str, Any]:
    """The options of the engine that a variant's name stands for.

    `autoregressive`, `verified`, `verified:SCHEDULE`, `verified:SCHEDULE:alone` (nothing is copied from the text),
    `verified:steer:VALUE` (with a value of the setting `steer`),
    `diffusion:THRESHOLD`, `diffusion:THRESHOLD:known` (told the gap's length), `diffusion:RULE:NUMBER` with the rules
    threshold, factor and entropy. UserError for any other.
    """
    match variant.split(":"):
        case ["autoregressive"]:
            return {"mode": "autoregressive"}
        case ["verified"]:
            return {"mode": "verified"}
        case ["verified", ("split" | "merged") as schedule]:
            return {"mode": "verified", "schedule": schedule}
        case ["verified", ("auto" | "split" | "merged") as schedule, "alone"]:
            return {"mode": "verified", "schedule": schedule, "copy": False}
        case ["verified", "steer", value] if value in STEERS:
            return {"mode": "verified", "steer": value}
        case ["diffusion", number] if _is_number(number):
            return {"mode": "diffusion", "rule": "threshold", "threshold": float(number)}
        case ["diffusion", number, "known"] if _is_number(number):
            return {"mode": "diffusion", "rule": "threshold", "threshold": float(number), "known": True}
        case ["diffusion", ("threshold" | "factor" | "entropy") as rule, number] if _is_number(number):
            return {"mode": "diffusion", "rule": rule, "threshold": float(number)}
    raise UserError(
        f"'{variant}' is no variant: use autoregressive, verified, verified:merged, verified:steer:both, "
        "diffusion:0.98, diffusion:0.98:known, diffusion:factor:0.5 or diffusion:entropy:0.3."
    )


def _is_number(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        return False
