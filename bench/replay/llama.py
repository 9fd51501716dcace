"""llama.cpp's own server in a process of its own, with the settings that llama.vim's documentation recommends.

`python -m bench.replay.llama GGUF THREADS` prints its address once it is ready, and ends when its input does.
"""

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from dlsp.errors import UserError

# As `llama-server --fim-qwen-…-default` sets them; its context is the model's.
BATCH, REUSE = 1024, 256
START_S = 300
# Our engine sets these for its own threads; llama.cpp waits as it does where users run it.
WAITS_ITS_OWN_WAY = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


class Llama:
    """`address` is where it listens."""

    def __init__(self, process: asyncio.subprocess.Process, address: str) -> None:
        self.address = address
        self._process = process

    @classmethod
    async def start(cls, gguf: Path, threads: int) -> "Llama":
        """UserError where llama.cpp cannot take part."""
        environment = {name: value for name, value in os.environ.items() if name not in WAITS_ITS_OWN_WAY}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.replay.llama", str(gguf), str(threads)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
        )
        assert process.stdout
        said = (await asyncio.wait_for(process.stdout.readline(), START_S)).decode().strip()
        if not said.startswith("http"):
            await process.wait()
            raise UserError(said or f"llama.cpp cannot load {gguf}: is there enough memory?")
        return cls(process, said)

    async def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        await self._process.wait()


def main() -> None:
    gguf, threads = sys.argv[1], int(sys.argv[2])
    # llama.cpp writes to standard output too; what it was when we began is ours alone.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        xllamacpp: Any = import_module("xllamacpp")  # a compiled module without types
    except ImportError:
        print("xllamacpp is not installed: run `pip install -e '.[bench]'`.", file=out, flush=True)
        return
    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.n_batch = params.n_ubatch = BATCH
    params.n_ctx, params.n_cache_reuse, params.n_parallel = 0, REUSE, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.fit_params = False  # it would choose another context by the memory that is free
    params.port, params.ui, params.verbosity = 0, False, -1
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        print(f"llama.cpp cannot load {gguf}.", file=out, flush=True)
        return
    print(server.listening_address, file=out, flush=True)
    sys.stdin.read()
    os._exit(0)  # its own end waits for requests that nobody waits for any more


if __name__ == "__main__":
    main()
