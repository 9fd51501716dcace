"""A run on disk: the checkpoint it goes on from, and what was trained in the form that the engine loads."""

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
METADATA_BYTES = 2**16  # room for the metadata of a shipped file


def save(folder: Path, trainer: Trainer[Any], elapsed: float, taught: int) -> None:
    """Everything that the next step depends on; what it draws follows from the recipe and its number."""
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
    """Go on where the run in `folder` was saved, if it was; seconds that it has taken and tokens that it was taught.

    Raises EngineError when it was begun with another recipe.
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
    """Bytes that are left for what is not trained, where a file of so many bytes ships beside this one.

    Raises EngineError where there is no room for what is trained.
    """
    size = METADATA_BYTES + 2 * sum(value.numel() for value in parameters.state_dict().values())
    if (left := LARGEST_BYTES - beside - size) < 0:
        raise EngineError(
            f"Rank {parameters.rank} takes {size / 1e6:.0f} MB beside the {beside / 1e6:.0f} MB of what ships with it: "
            f"at most {LARGEST_BYTES / 1e6:.0f} MB are shipped together."
        )
    return left


def export(path: Path, parameters: LowRanks, metadata: dict[str, str]) -> None:
    """What was trained as the engine reads it, in bf16, and what was counted as it is."""
    trained = {name: value.detach().cpu().bfloat16().contiguous() for name, value in parameters.state_dict().items()}
    tensors = parameters.tensors() | trained
    _replaced(path, lambda partial: save_file(tensors, partial, metadata=metadata))


def _replaced(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file whole or not at all. Raises EngineError, the file as it was before, where there is no room."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        write(partial)
        partial.replace(path)
    except (OSError, RuntimeError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise EngineError(f"{path} cannot be written ({error}): what was saved before is whole; make room.") from error
