"""The ops of a GPU step: the fused version of each, or its reference if that fails or is not wanted."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

log = logging.getLogger(__name__)

NAMES = (
    "embed",
    "layer_norm",
    "qkv_rope_write",
    "paged_attention",
    "gated_linear",
    "gated_swiglu",
    "top_tokens",
    "lay",
    "commit",
    "pair_choice",
)

# Parts of error messages after which the device cannot continue: it has failed, or its memory is full.
BROKEN = ("CUDA error", "out of memory", "HIP error", "illegal memory access", "misaligned address")


class Op:
    """One op. It calls the fused version until that fails to compile, and from then on the reference."""

    def __init__(
        self,
        name: str,
        fused: Callable[..., Any] | None,
        reference: Callable[..., Any],
        failure: str | None = None,
    ) -> None:
        self.name = name
        self.failure = failure
        self._fused, self._reference = fused, reference

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if self._fused is None:
            return self._reference(*inputs, **options)
        try:
            return self._fused(*inputs, **options)
        except Exception as error:
            # An error during a capture need not be the kernel's fault, and the capture is lost in any case.
            if is_devices(error) or (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()):
                raise
            self._fused = None
            self.failure = reason(error)
            log.warning("The kernel %s does not compile here; its slow version is used (%s)", self.name, self.failure)
            return self._reference(*inputs, **options)


def reason(error: Exception) -> str:
    """The error in one line. For Triton's errors it is the last line, because these quote the kernel first; else the
    first.
    """
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[-1 if type(error).__module__.startswith('triton') else 0]}"[:300]


def is_devices(error: Exception) -> bool:
    """Whether the device has failed or its memory is full, so that the reference would not help."""
    text = str(error)
    return "OutOfMemory" in type(error).__name__ or any(sign in text for sign in BROKEN)


class StepOps:
    """All ops of a GPU step. `fused` False: only references, for devices that the kernels do not support."""

    def __init__(self, fused: bool) -> None:
        def op(name: str) -> Op:
            reference = getattr(import_module(f"dlsp_kernels.{name}.reference"), name)
            if not fused:
                return Op(name, None, reference)
            try:
                return Op(name, getattr(import_module(f"dlsp_kernels.{name}.triton"), name), reference)
            except ImportError as error:
                return Op(name, None, reference, f"Triton cannot be imported: {error}")

        self.embed = op("embed")
        self.layer_norm = op("layer_norm")
        self.qkv_rope_write = op("qkv_rope_write")
        self.paged_attention = op("paged_attention")
        self.gated_linear = op("gated_linear")
        self.gated_swiglu = op("gated_swiglu")
        self.top_tokens = op("top_tokens")
        self.lay = op("lay")
        self.commit = op("commit")
        self.pair_choice = op("pair_choice")

    @property
    def failures(self) -> dict[str, str]:
        """Op name -> why the reference runs in place of the fused version."""
        ops = (getattr(self, name) for name in NAMES)
        return {op.name: op.failure for op in ops if op.failure}
