"""`python -m dlsp_engine.train.stack INFILL EDIT OUT`: one update of an infill update and an edit update that was
trained on top of it. The engine merges it into the base.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlsp_engine.errors import EngineError, exit_on_error
from dlsp_engine.model.update import Update


def stacked(first: dict[str, Tensor], second: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of an update that changes weights as both do. Its rank is the sum of theirs."""
    found: dict[str, Tensor] = {}
    for name, one in first.items():
        other = second[name]
        if name.endswith(".b"):
            found[name] = torch.cat([one, other], 1)
            continue
        # a [parts * rank, in]: the ranks of each part of a fused projection stand together
        ranks = [tensors[f"{name.removesuffix('.a')}.b"].shape[1] for tensors in (first, second)]
        parts = zip(one.split(ranks[0]), other.split(ranks[1]), strict=True)
        found[name] = torch.cat([rows for pair in parts for rows in pair])
    return found


def stack(infill: Path, edit: Path, out: Path) -> None:
    """Write the update of both. Raises EngineError unless the second one was trained on the first."""
    under, over = Update.of(infill), Update.of(edit)
    if over.metadata.get("update_sha256") != under.sha256:
        raise EngineError(f"{edit} was not trained on the base with {infill}; give the update that it was trained on.")
    more = {
        "version": f"{under.metadata.get('version', '')}+{over.metadata.get('version', '')}",
        "edits": json.dumps({name: over.metadata.get(name, "") for name in ("recipe", "edits", "steps", "tokens")}),
        "canvas_adapters": json.dumps([]),
    }
    tensors: list[dict[str, Tensor]] = []
    for path in (infill, edit):
        with safe_open(path, framework="pt") as file:
            tensors.append({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    save_file(stacked(*tensors), out, metadata=under.metadata | more)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m dlsp_engine.train.stack", description="Make one update of two.")
    for name in ("infill", "edit", "out"):
        parser.add_argument(name, type=Path)
    with exit_on_error():
        stack(**vars(parser.parse_args(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
