"""How fast prompts are read as they grow long, beside llama.cpp: `python -m bench.prefill`.

Both sides read the same passage of the standard library, in pieces of about PIECE_TOKENS: each time the prompt is that
of before with one piece more, so that what was read stays cached. They take turns within each piece, in an order that
changes, so that other programs slow both. Times are milliseconds from the request to the second token, summed up to
each size.

After Ctrl-C what was measured so far counts.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import psutil

from bench.command import DTYPES, guarded, line, until_stopped, weights_cache, written
from bench.peers.child import Child
from bench.peers.contenders import PEER, PEER_ENVIRONMENT
from bench.peers.llama import Llama
from bench.peers.ours import Ours
from bench.peers.prompts import passage, prompt
from bench.peers.side import Ask
from dlsp.models import catalogue, store
from dlsp_engine.model.convert import converted
from dlsp_engine.text.tokenizer import ModelTokenizer, Tokenizer

PIECE_TOKENS = 1024
SPARE_TOKENS = 64  # of the context, for what frames the prompt and for the answer
OURS = "dlsp"


@dataclass(frozen=True)
class Piece:
    """What reading one piece took: tokens of the whole prompt, tokens that were new, and milliseconds of each side."""

    tokens: int
    new: int
    milliseconds: dict[str, float]


def asks(tokens: int, tokenizer: Tokenizer, rng: random.Random) -> list[Ask]:
    """A prompt that grows piece by piece to about so many tokens."""
    known = tokenizer.encode(passage(tokens - SPARE_TOKENS, tokenizer, rng))
    texts = [tokenizer.decode(known[:end]) for end in (*range(PIECE_TOKENS, len(known), PIECE_TOKENS), len(known))]
    lines = [text.rpartition("\n")[0] + "\n" for text in texts]
    return [Ask(text, "", "", prompt(text, "", "", tokenizer), "token", 2) for text in lines]


def measure(sides: dict[str, Child], asked: Sequence[Ask], rng: random.Random) -> Iterator[Piece]:
    """What each piece took. Raises RuntimeError if a side had to read again what it had read."""
    before = 0
    for ask in asked:
        took: dict[str, float] = {}
        for name in rng.sample(sorted(sides), len(sides)):
            reply = sides[name].ask(ask, "autoregressive")
            took[name] = reply.milliseconds
            if reply.cached < 0.9 * before:
                raise RuntimeError(f"{name} had {reply.cached} of {before} tokens cached.")
        yield Piece(len(ask.tokens), len(ask.tokens) - before, took)
        before = len(ask.tokens)


def summary(pieces: Sequence[Piece], sizes: Sequence[int]) -> dict[str, float]:
    """By size of the prompt: seconds and tokens a second of each side, and how many times as fast ours is; for the last
    piece up to it too, as `deepest`.
    """
    metrics: dict[str, float] = {}
    for size in sizes:
        upto = [piece for piece in pieces if piece.tokens <= size]
        if not upto or upto[-1].tokens < 0.9 * size:
            continue
        for name in upto[0].milliseconds:
            seconds = sum(piece.milliseconds[name] for piece in upto) / 1e3
            metrics |= {f"{size}/{name}/s": seconds, f"{size}/{name}/tokens_per_s": upto[-1].tokens / seconds}
        if PEER in upto[0].milliseconds:
            metrics[f"{size}/speed"] = metrics[f"{size}/{PEER}/s"] / metrics[f"{size}/{OURS}/s"]
            metrics[f"{size}/deepest/speed"] = upto[-1].milliseconds[PEER] / upto[-1].milliseconds[OURS]
    return {name: round(value, 3) for name, value in metrics.items()}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.prefill", description="Reading long prompts, beside llama.cpp.")
    parser.add_argument("--sizes", default="2048,8192,32768", help="tokens, separated by commas")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    sizes, rng = sorted(map(int, asked.sizes.split(","))), random.Random(asked.seed)
    model = catalogue.find(asked.model)
    gguf, threads = store.path(model), psutil.cpu_count(logical=False) or 1
    prompts = asks(
        sizes[-1], ModelTokenizer(converted(gguf, weights_cache(asked.dtype, infill_update=False), dense=False)), rng
    )
    with ExitStack() as stack:
        sides = {
            OURS: Child(OURS, {}, Ours, gguf, asked.dtype, threads),
            PEER: Child(PEER, PEER_ENVIRONMENT, Llama, gguf, False, threads, sizes[-1]),
        }
        for child in sides.values():
            stack.callback(child.close)
        pieces = until_stopped(measure(sides, prompts, rng), f"{model.name}, {threads} threads", len(prompts))
        facts = {name: child.facts for name, child in sides.items()}
        metrics = summary(pieces, sizes)
        metrics |= {f"{name}/resident_mb": round(child.resident() / 1e6, 1) for name, child in sides.items()}
    print(metrics)
    samples = [
        {"tokens": piece.tokens, "new": piece.new} | {name: round(ms, 1) for name, ms in piece.milliseconds.items()}
        for piece in pieces
    ]
    return written(f"prefill-{model.name}", line(parser, asked), metrics, samples, threads=threads, sides=facts)


if __name__ == "__main__":
    sys.exit(main())
