"""`python -m dlsp_engine.train.ends`: how often gaps end too early and too late, were the end token's weight another.

Training with an end token that weighs w times as much as others moves its logit by about log w against theirs. So one
pass over held-out gaps tells both errors for every weight. The recipe's `end` is then multiplied by the wanted one.
"""

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F

from dlsp_engine.errors import exit_on_error
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import packed
from dlsp_engine.train.fill_store import StoredFills
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.packed import Packed

WEIGHTS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)


@torch.no_grad()
def leads(weights: Weights, parameters: LowRanks | None, fill: Fill, device: torch.device) -> torch.Tensor:
    """Return by how much the end token's logit exceeds the largest other one, after each token of the answer before its
    end, and at its end.
    """
    rows = Packed.of([fill], device)
    low = parameters.low(weights.dtype) if parameters else [{}] * weights.architecture.layers
    logits = F.linear(packed.hidden(weights, low, rows), weights.head).float()
    best, end = logits.topk(2), fill.answer[-1]
    other = torch.where(best.indices[:, 0] == end, best.values[:, 1], best.values[:, 0])
    return logits[:, end] - other


def errors(of_gaps: Sequence[torch.Tensor], weight: float) -> tuple[float, float]:
    """Return the shares of gaps that end too early and that do not end where they should."""
    shift = math.log(weight)
    early = sum(bool((lead[:-1] + shift > 0).any()) for lead in of_gaps)
    late = sum(bool(lead[-1] + shift <= 0) for lead in of_gaps)
    return early / len(of_gaps), late / len(of_gaps)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dlsp_engine.train.ends", description=__doc__)
    add = parser.add_argument
    add("--fills", type=Path, required=True, metavar="DIR", help="what `dlsp train fills` made")
    add("--weights", type=Path, required=True, metavar="DIR", help="the base, converted without an update")
    add("--update", type=Path, metavar="FILE", help="the infill update (default: none)")
    add("--gaps", type=int, default=60, help="of each kind (default %(default)s)")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    given = options().parse_args(arguments)
    device, found = torch.device(given.device), defaultdict[str, list[torch.Tensor]](list)
    with exit_on_error():
        weights = Weights.load(given.weights, torch.bfloat16)
        parameters = LowRanks.read(given.update, weights.architecture).to(device) if given.update else None
        weights = weights.to(device)
        for fill in StoredFills(given.fills, "heldout", 0).held_out(given.gaps):
            lead = leads(weights, parameters, fill, device)
            for kind in (fill.kind, "all"):
                found[kind].append(lead)
    print(
        "too early, too late, if the end's weight were multiplied by\n         "
        + "".join(f"{weight:>14g}" for weight in WEIGHTS)
    )
    for kind, of_gaps in found.items():
        cells = ("{:>6.1%} {:>6.1%}".format(*errors(of_gaps, weight)) for weight in WEIGHTS)
        print(f"{kind:9}" + "".join(f"{cell:>14}" for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
