"""A run on disk: the checkpoint it goes on from, and the adapter in the form that the engine loads."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from dlsp_engine.errors import EngineError
from dlsp_engine.train.model import Parameters
from dlsp_engine.train.trainer import Trainer

CHECKPOINT, ADAPTER = "checkpoint.pt", "adapter.safetensors"
LARGEST = 40_000_000 - 2**16
"""Bytes of a shipped adapter's tensors; its metadata has room in the rest."""


def save(folder: Path, trainer: Trainer, elapsed: float) -> None:
    """Everything that the next step depends on; what it draws follows from the recipe and its number."""
    state = {
        "step": trainer.step,
        "elapsed": elapsed,
        "recipe": trainer.recipe.to_json(),
        "parameters": trainer.model.parameters.state_dict(),
        "average": trainer.average.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
    }
    _replaced(folder / CHECKPOINT, lambda partial: torch.save(state, partial))


def resume(folder: Path, trainer: Trainer) -> float:
    """Go on where the run in `folder` was saved, if it was; seconds that it has taken so far.

    Raises EngineError when it was begun with another recipe.
    """
    if not (folder / CHECKPOINT).exists():
        return 0.0
    state: dict[str, Any] = torch.load(folder / CHECKPOINT, map_location=trainer.model.device, weights_only=True)
    if state["recipe"] != trainer.recipe.to_json():
        raise EngineError(
            f"The run in {folder} was begun with other settings ({state['recipe']}); give those, or another --out."
        )
    trainer.model.parameters.load_state_dict(state["parameters"])
    trainer.average.load_state_dict(state["average"])
    trainer.optimizer.load_state_dict(state["optimizer"])
    trainer.step = state["step"]
    return state["elapsed"]


def room(parameters: Parameters) -> int:
    """Bytes that a shipped adapter has left for what is not trained."""
    return LARGEST - 2 * sum(value.numel() for value in parameters.state_dict().values())


def export(path: Path, parameters: Parameters, metadata: dict[str, str]) -> None:
    """The adapter as `Adapter.load` reads it, in bf16. Raises EngineError when it is too large to be shipped."""
    tensors = {name: value.detach().cpu().bfloat16().contiguous() for name, value in parameters.state_dict().items()}
    if parameters.bigrams:
        tensors |= parameters.bigrams.tensors()
    if (size := sum(tensor.nbytes for tensor in tensors.values())) > LARGEST:
        raise EngineError(f"An adapter of rank {parameters.rank} takes {size / 1e6:.0f} MB; at most 40 MB are shipped.")
    _replaced(path, lambda partial: save_file(tensors, partial, metadata=metadata))


def _replaced(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file whole or not at all. Raises EngineError, the file as it was before, where there is no room."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        write(partial)
        os.replace(partial, path)
    except (OSError, RuntimeError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise EngineError(f"{path} cannot be written ({error}): what was saved before is whole; make room.") from error
