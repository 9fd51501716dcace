"""Who takes part: each side in a process of its own, our engine in each of its modes."""

import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.peers.child import Child, Environment
from bench.peers.hub import Transformers
from bench.peers.llama import CONTEXT, Llama
from bench.peers.ours import CANVAS, MODES, Ours
from bench.peers.side import Missing, Side
from dlsp.errors import UserError

PEER = "llama.cpp"
NGRAM = f"{PEER} n-gram"  # with its n-gram drafts
SLOTS = 4
SEVERAL = f"{PEER} {SLOTS} slots"
HUB = "transformers bfloat16"

RESTRICTED: dict[str, Environment] = {
    "native": {},
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}
# The peers' threads wait as they do where users run them; importing our engine has set this for its own.
PEER_ENVIRONMENT: Environment = {"OMP_WAIT_POLICY": None, "GOMP_SPINCOUNT": None}


@dataclass(frozen=True)
class Contender:
    """A child in one of its modes. `plain` ones decode a token a step and measure prefill for their child."""

    name: str
    child: Child
    mode: str
    plain: bool


@dataclass(frozen=True)
class Field:
    """What is compared: the model's file, our dtypes, the instruction sets, threads of each side."""

    gguf: Path
    dtypes: Sequence[str]
    threads: int
    isa: str = "native"
    context: int = CONTEXT
    # Whether gaps come at once too: llama.cpp takes part with several slots then, in place of its n-grams.
    several: bool = False

    def enter(self, stack: ExitStack) -> tuple[list[Contender], dict[str, str]]:
        """Those that take part, llama.cpp first, and of the others a sentence each; UserError where nobody does."""
        contenders: list[Contender] = []
        missing: dict[str, str] = {}
        for name, environment, make, arguments in self._wanted():
            try:
                child = Child(name, environment, make, self.gguf, *arguments)
            except Missing as error:
                missing[name] = f"{name} does not take part: {error}"
                continue
            stack.callback(child.close)
            if make is not Ours:
                contenders.append(Contender(name, child, "", plain=name in (PEER, HUB)))
                continue
            for mode in MODES:
                if mode in CANVAS and not self._adapter:
                    said = "no canvas adapter is trained for this model yet."
                    missing[f"{name} {mode}"] = f"{name} {mode} does not take part: {said}"
                else:
                    contenders.append(Contender(f"{name} {mode}", child, mode, plain=mode == "autoregressive"))
        if not contenders:
            raise UserError("Nothing to compare: " + " ".join(missing.values()))
        return contenders, missing

    def _wanted(self) -> list[tuple[str, Environment, Callable[..., Side], tuple[object, ...]]]:
        ours = RESTRICTED[self.isa]
        return [
            (PEER, PEER_ENVIRONMENT, Llama, (False, self.threads, self.context)),
            (SEVERAL, PEER_ENVIRONMENT, Llama, (False, self.threads, CONTEXT, SLOTS))
            if self.several
            else (NGRAM, PEER_ENVIRONMENT, Llama, (True, self.threads, self.context)),
            (HUB, {**PEER_ENVIRONMENT, **ours}, Transformers, (self.threads,)),
            *((dtype, ours, Ours, (dtype, self.threads)) for dtype in self.dtypes),
        ]

    @property
    def _adapter(self) -> bool:
        from dlsp_engine.engine import ADAPTERS

        return (ADAPTERS / f"{self.gguf.stem}.safetensors").exists()


def isa_fault(isa: str) -> str | None:
    """Why this instruction set cannot be asked for here."""
    if isa == "avx2" and platform.machine().lower() not in ("x86_64", "amd64"):
        return f"--isa avx2 is for x86-64; this processor is {platform.machine()}."
    return None
