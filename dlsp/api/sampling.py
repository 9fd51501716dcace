"""How the next token is chosen: by what a request says, and where it says nothing by what its clients expect."""

import secrets
from dataclasses import dataclass

from dlsp.api.body import Body

MAX_TEMPERATURE = 4  # the engine's limit
MAX_SEED = 2**52  # further answers to a request count on from its seed


@dataclass(frozen=True)
class Sampling:
    """The engine's options of the same names (docs/engine-http.md). Temperature 0 is greedy; a `top_k` of 0 is no
    limit."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0


# What fills a gap is greedy unless a client says otherwise: typing wants the likeliest text, and the same one again.
GREEDY = Sampling()


def sampling_of(body: Body, usual: Sampling = GREEDY) -> Sampling:
    """The request's sampling. Fields that it leaves out are those of `usual`."""
    return Sampling(
        temperature=body.number("temperature", usual.temperature, 0, MAX_TEMPERATURE),
        top_p=body.number("top_p", usual.top_p, 0, 1),
        top_k=min(max(0, body.whole("top_k", usual.top_k)), 2**20),  # -1 is llama.cpp's "no limit"
        min_p=body.number("min_p", usual.min_p, 0, 1),
    )


def seed_of(body: Body, name: str = "seed") -> int:
    """The request's seed; another one each time if it gives none, or llama.cpp's and Ollama's -1."""
    seed = body.whole(name, -1)
    if seed == -1:
        return secrets.randbelow(2**31)
    return abs(seed) % MAX_SEED
