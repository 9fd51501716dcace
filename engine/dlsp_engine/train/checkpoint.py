"""The files of a training run: the checkpoint from which it resumes, and the trained tensors in the format that the
engine loads.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from dlsp_engine.errors import EngineError
from dlsp_engine.model.update import LARGEST_BYTES
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.trainer import Trainer

CHECKPOINT, ADAPTER, UPDATE = "checkpoint.pt", "adapter.safetensors", "infill-update.safetensors"
EDIT_UPDATE = "edit-update.safetensors"
METADATA_BYTES = 2**16  # room for the metadata of a shipped file


def save(folder: Path, trainer: Trainer[Any], elapsed: float, taught: int) -> None:
    """Write everything that the next step depends on. Its random draws follow from the recipe and the step's number."""
    state = {
        "step": trainer.step,
        "elapsed": elapsed,
        "taught": taught,
        "recipe": trainer.recipe.to_json(),
        "parameters": trainer.parameters.state_dict(),
        "average": trainer.average.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
    }
    _replaced(folder / CHECKPOINT, lambda partial: torch.save(state, partial))


def resume(folder: Path, trainer: Trainer[Any]) -> tuple[float, int]:
    """Restore `trainer` from the checkpoint in `folder`, if there is one. Returns the seconds that the run has taken
    and the number of tokens it was trained on so far.

    Raises EngineError if the run was begun with another recipe.
    """
    if not (folder / CHECKPOINT).exists():
        return 0.0, 0
    state: dict[str, Any] = torch.load(folder / CHECKPOINT, map_location=trainer.device, weights_only=True)
    if state["recipe"] != trainer.recipe.to_json():
        raise EngineError(
            f"The run in {folder} was begun with other settings ({state['recipe']}); give those, or another --out."
        )
    trainer.parameters.load_state_dict(state["parameters"])
    trainer.average.load_state_dict(state["average"])
    trainer.optimizer.load_state_dict(state["optimizer"])
    trainer.step = state["step"]
    return state["elapsed"], state["taught"]


def room(parameters: LowRanks, beside: int) -> int:
    """Return the bytes that are left for what is not trained, if a file of `beside` bytes ships together with this one.

    Raises EngineError if the trained tensors alone take more than there is.
    """
    size = METADATA_BYTES + 2 * sum(value.numel() for value in parameters.state_dict().values())
    if (left := LARGEST_BYTES - beside - size) < 0:
        raise EngineError(
            f"Rank {parameters.rank} takes {size / 1e6:.0f} MB beside the {beside / 1e6:.0f} MB of what ships with it: "
            f"at most {LARGEST_BYTES / 1e6:.0f} MB are shipped together."
        )
    return left


def export(path: Path, parameters: LowRanks, metadata: dict[str, str]) -> None:
    """Write the file that the engine reads: trained tensors in bfloat16, counted ones (bigrams) unchanged."""
    trained = {name: value.detach().cpu().bfloat16().contiguous() for name, value in parameters.state_dict().items()}
    tensors = parameters.tensors() | trained
    _replaced(path, lambda partial: save_file(tensors, partial, metadata=metadata))


def _replaced(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file atomically. If that fails, for example on a full disk, raises EngineError and leaves the old file as
    it was.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        write(partial)
        partial.replace(path)
    except (OSError, RuntimeError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise EngineError(f"{path} cannot be written ({error}): what was saved before is whole; make room.") from error
