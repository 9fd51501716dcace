"""Token healing in every mode: what stands already comes first, and is no part of the answer."""

import pytest
import torch
from torch import Tensor

from dlsp_engine.engine import Engine
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, prompt


class TwoByteTokens:
    """Wraps the byte tokenizer so that one token may stand for two bytes: id 200 is "ab"."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name: str):
        return getattr(self._inner, name)

    def token_bytes(self, token: int) -> bytes:
        return b"ab" if token == 200 else self._inner.token_bytes(token)

    def completions(self, start: bytes) -> Tensor:
        more = [200] if b"ab".startswith(start) or start.startswith(b"ab") else []
        return torch.cat([self._inner.completions(start), torch.tensor(more, dtype=torch.int64)])


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_answers_begin_with_what_stands(tiny: Engine, mode: str):
    engine = Engine(tiny.model, TwoByteTokens(tiny.tokenizer))  # type: ignore[arg-type]
    for seed in range(12):
        gap = Gap("x = a", "\n")
        assert prompt(gap, engine.tokenizer).forced == b"a"
        fill = engine.fill(gap, Options(mode=mode, temperature=2, seed=seed, max_tokens=5))
        assert fill.tokens[0] in (ord("a"), 200)
        written = b"".join(map(engine.tokenizer.token_bytes, fill.tokens))
        assert fill.text == written[1:].decode("utf-8", "ignore")
