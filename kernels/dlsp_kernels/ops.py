"""The ops of a GPU step: the fused version of each, and its reference where that fails or is not wanted."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

log = logging.getLogger(__name__)

NAMES = (
    "embed",
    "qkv_rope_write",
    "paged_attention",
    "gated_linear",
    "gated_swiglu",
    "top_tokens",
    "lay",
    "commit",
    "pair_choice",
)

BROKEN = ("CUDA error", "out of memory", "HIP error", "illegal memory access", "misaligned address")
"""What an error says after which a device does nothing more."""


class Op:
    """Calls the fused version until it fails to compile; from then on the reference."""

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
            # A launch that cannot be captured says nothing of the kernel, and the capture is lost with it.
            if is_devices(error) or (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()):
                raise
            self._fused = None
            self.failure = reason(error)
            log.warning("The kernel %s does not compile here; its slow version is used (%s)", self.name, self.failure)
            return self._reference(*inputs, **options)


def reason(error: Exception) -> str:
    """In a line: the first of what is said, but the last of what Triton says, which quotes the program before."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[-1 if type(error).__module__.startswith('triton') else 0]}"[:300]


def is_devices(error: Exception) -> bool:
    """Whether the device failed, or is full: no other version would help."""
    text = str(error)
    return "OutOfMemory" in type(error).__name__ or any(sign in text for sign in BROKEN)


class StepOps:
    """`fused` False: all references, for devices that the kernels were not made for."""

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
        """Which kernels had to be replaced, and why."""
        ops = (getattr(self, name) for name in NAMES)
        return {op.name: op.failure for op in ops if op.failure}
