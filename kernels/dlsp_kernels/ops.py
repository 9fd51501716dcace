"""The ops of a GPU step: the fused version of each, or its reference if that fails or is not wanted."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger(__name__)

NAMES = (
    "embed",
    "row_norm",
    "qkv_rope_write",
    "paged_attention",
    "gated_linear",
    "gated_swiglu",
)

# Parts of error messages after which the device cannot continue: it has failed, or its memory is full.
BROKEN = ("CUDA error", "out of memory", "HIP error", "illegal memory access", "misaligned address")


class Op:
    """One op. It calls the fused version; for inputs of a kind that this fails to compile for, from then on the
    reference.
    """

    def __init__(
        self,
        name: str,
        fused: Callable[..., Any] | None,
        reference: Callable[..., Any],
        failure: str | None = None,
    ) -> None:
        self.name = name
        self.failure = failure
        self.slow_calls = 0  # of the reference in place of a fused version
        self._fused, self._reference = fused, reference
        self._slow: set[Hashable] = set()

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if self._fused is None or (self._slow and _kind(inputs, options) in self._slow):
            return self._slowly(*inputs, **options)
        try:
            return self._fused(*inputs, **options)
        except Exception as error:
            # An error during a capture need not be the kernel's fault, and the capture is lost in any case.
            if is_devices(error) or (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()):
                raise
            if not self._slow:
                self.failure = reason(error)
                log.warning(
                    "The kernel %s does not compile here for some inputs; its slow version is used (%s)",
                    self.name,
                    self.failure,
                )
            self._slow.add(_kind(inputs, options))
            return self._slowly(*inputs, **options)

    def _slowly(self, *inputs: Any, **options: Any) -> Any:
        self.slow_calls += 1
        return self._reference(*inputs, **options)


def _kind(inputs: Sequence[Any], options: Mapping[str, Any]) -> Hashable:
    """What a kernel is compiled for: shapes and types of tensors, also of those in dataclasses, and other arguments."""

    def of(value: Any) -> Hashable:
        if isinstance(value, Tensor):
            return (*value.shape, value.dtype)
        if is_dataclass(value):
            return tuple(of(getattr(value, field.name)) for field in fields(value))
        return value

    return (*map(of, inputs), *sorted((name, of(value)) for name, value in options.items()))


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
        self.row_norm = op("row_norm")
        self.qkv_rope_write = op("qkv_rope_write")
        self.paged_attention = op("paged_attention")
        self.gated_linear = op("gated_linear")
        self.gated_swiglu = op("gated_swiglu")

    @property
    def slow_calls(self) -> int:
        """How often references have run."""
        return sum(op.slow_calls for op in self._all)

    @property
    def failures(self) -> dict[str, str]:
        """Op name -> why the reference runs in place of the fused version, for some inputs at least."""
        return {op.name: op.failure for op in self._all if op.failure}

    @property
    def _all(self) -> list[Op]:
        return [getattr(self, name) for name in NAMES]
