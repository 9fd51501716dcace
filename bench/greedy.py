"""Greedy answers beside llama.cpp's from the same GGUF file: each of its tokens is our best one, up to ties.

Where llama.cpp's token is not our best in float32, it is a tie if ours is better by less than MAX_TIE of the logits'
spread. Two things set them apart, and `--weights` tells which: llama.cpp multiplies quantised matrices by inputs of 8
bits, and the engine rounds weights to bf16. The engine's own answers are compared too: verified with copying, by
autoregressive ones.
"""

import argparse
import random
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.command import at_least, guarded, until_stopped, weights_cache, written
from bench.peers.llama import Llama
from bench.peers.prompts import passage

if TYPE_CHECKING:
    from dlsp_engine import Engine

PROMPT_TOKENS = (20, 120)
MAX_TIE = 0.1  # of the standard deviation of the logits

# What llama.cpp is given: the file, or one in float32 with its weights, or with these rounded to bf16 as the engine's.
STORED, EXACT, ROUNDED = WEIGHTS = ("stored", "float32", "rounded")


@dataclass(frozen=True)
class Compared:
    """One prompt: how many tokens llama.cpp wrote, by how many spreads of the logits ours is better where it is another
    one, and whether our verified answer is the autoregressive one.
    """

    prompt: int  # tokens
    tokens: int
    behind: list[float]
    verified_same: bool
    tau: float

    @property
    def ties(self) -> int:
        return sum(each < MAX_TIE for each in self.behind)


def compared(engine: "Engine", peer: Llama, text: str, tokens: int) -> Compared:
    from dlsp_engine import Gap, Options
    from dlsp_engine.model.rows import Rows
    from dlsp_engine.options import TEXT_END

    prompt = [*engine.tokenizer.template.start, *engine.tokenizer.encode(text)]
    theirs, rows = peer.greedy(prompt, tokens), Rows()
    rows.add_clean([*prompt, *theirs[:-1]], 0)
    logits = engine.model.head(engine.model.forward([(engine.model.new_cache(), rows)])[len(prompt) - 1 :])
    behind = [
        float((each.max() - each[token]) / each.std())
        for each, token in zip(logits, theirs, strict=True)
        if int(each.argmax()) != token
    ]
    session = engine.prefilled(Gap(text, ""))
    own = [
        engine.fill(Gap(text, ""), Options(mode=mode, end=TEXT_END, max_tokens=tokens), session.copy())
        for mode in ("verified", "autoregressive")
    ]
    same = own[0].tokens == own[1].tokens
    return Compared(len(prompt), len(theirs), [round(each, 4) for each in behind], same, round(own[0].cost.tau, 3))


def dequantised(gguf: Path, folder: Path, rounded: bool) -> Path:
    """A file of the same model in `folder`, with all its weights in float32."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter
    from gguf.quants import dequantize

    from dlsp_engine.model.gguf_checkpoint import bf16

    reader, path = GGUFReader(gguf), folder / f"{gguf.stem}-float32.gguf"
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    writer = GGUFWriter(path, fields.pop("general.architecture").contents())
    for name, field in fields.items():
        kind, inner = field.types[0], field.types[-1]
        writer.add_key_value(name, field.contents(), kind, inner if kind == GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        writer.add_tensor(tensor.name, bf16(data, kind).float().numpy() if rounded else dequantize(data, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@guarded()
def main() -> int:
    """0 when no token of llama.cpp's differs but in ties and no verified answer differs; 1 when one does."""
    parser = argparse.ArgumentParser("python -m bench.greedy", description=sys.modules[__name__].__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--prompts", type=at_least(1), default=50)
    parser.add_argument("--tokens", type=at_least(2), default=24, help="of an answer at most")
    parser.add_argument("--weights", choices=WEIGHTS, default=STORED, help="that llama.cpp has; see above")
    asked = parser.parse_args()
    from dlsp_engine import Engine

    engine = Engine.load(asked.gguf, weights_cache("float32", infill_update=False), "float32", infill_update=False)
    with tempfile.TemporaryDirectory() as folder:  # which llama.cpp has mapped by the time it is removed
        stored = asked.weights == STORED
        theirs = asked.gguf if stored else dequantised(asked.gguf, Path(folder), asked.weights == ROUNDED)
        peer = Llama(theirs, ngram=False, threads=2, context=1024)
    rng = random.Random(0)
    texts = [passage(rng.randint(*PROMPT_TOKENS), engine.tokenizer, rng).rstrip() for _ in range(asked.prompts)]
    each = (compared(engine, peer, text, asked.tokens) for text in texts)
    found = until_stopped(each, asked.gguf.stem, len(texts))
    ties, apart = sum(one.ties for one in found), sum(len(one.behind) - one.ties for one in found)
    metrics = {
        "prompts": len(found),
        "tokens": sum(one.tokens for one in found),
        "prompts/identical": sum(not one.behind for one in found),
        "prompts/with_ties_only": sum(len(one.behind) == one.ties > 0 for one in found),
        "tokens/ties": ties,
        "tokens/different": apart,
        "largest_behind": max((number for one in found for number in one.behind), default=0.0),
        "verified/same": sum(one.verified_same for one in found),
        "verified/tau": round(statistics.mean(one.tau for one in found), 3),
    }
    command = f"python -m bench.greedy --gguf {asked.gguf.name} --prompts {len(found)} --tokens {asked.tokens}"
    command += "" if stored else f" --weights {asked.weights}"
    name = f"greedy-{asked.gguf.stem.lower()}"
    written(
        name if stored else f"{name}-{asked.weights}",
        command,
        metrics,
        [asdict(one) for one in found],
        sides=peer.facts,
    )
    print(metrics)
    return int(bool(apart) or metrics["verified/same"] < len(found))


if __name__ == "__main__":
    sys.exit(main())
