"""Perplexity on held-out files by dtype: `python -m bench.quality.perplexity --model 1.5b --dtypes int8,int4`.

The files are of packages that no training saw, one after the other, cut into pieces of 512 tokens. The second half of
each piece counts, as in llama.cpp's own program: with `--llama llama-perplexity` that runs on the same text too, by the
file's own codes. The weights are those that were published.
"""

import argparse
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.command import DTYPES, at_least, guarded, line, loaded, written
from bench.progress import progress
from bench.replay.files import corpus
from dlsp.errors import UserError
from dlsp.models import catalogue, store
from dlsp_engine.train.bootstrap import interval
from dlsp_engine.train.corpus.shards import Row, rows

if TYPE_CHECKING:
    from dlsp_engine import Engine

LENGTH = 512  # tokens of a piece

# Characters of one file that count at most, so that the text is of many files.
OF_A_FILE = 6_000

LLAMA = "llama.cpp"


@dataclass(frozen=True)
class Piece:
    """What a model says of one piece: nats a token of its second half, and its most likely tokens there."""

    nats: float
    likeliest: tuple[int, ...]


def text(folder: Path, characters: int, seed: int = 0) -> str:
    """Held-out files of at least `characters` in all, in turn from each language."""
    of: dict[str, list[Row]] = {}
    for row in rows(folder, "heldout"):
        of.setdefault(row["language"], []).append(row)
    turns: list[Iterator[Row]] = []
    for language in sorted(of):
        random.Random(f"{seed}/{language}").shuffle(of[language])
        turns.append(iter(of[language]))
    found, size = list[str](), 0
    while size < characters:
        taken = [row["text"][:OF_A_FILE] for turn in turns if (row := next(turn, None))]
        if not taken:
            raise UserError(f"{folder} has {size:,} characters of held-out files; {characters:,} are needed.")
        found += taken
        size += sum(map(len, taken))
    return "\n".join(found)


def pieces(engine: "Engine", whole: str, number: int) -> list[list[int]]:
    """The first `number` pieces of a text."""
    tokens = engine.tokenizer.encode(whole)
    if len(tokens) < number * LENGTH:
        raise UserError(f"The text has {len(tokens)} tokens; {number * LENGTH} are needed.")
    return [tokens[start : start + LENGTH] for start in range(0, number * LENGTH, LENGTH)]


def judge(engine: "Engine", tokens: list[int]) -> Piece:
    """What the engine says of a piece, read as a prompt is: in steps of 128 rows."""
    import torch

    from dlsp_engine.model.rows import Rows

    half, model = LENGTH // 2, engine.model
    cache, nats, likeliest = model.new_cache(), list[float](), list[int]()
    for start in range(0, LENGTH, 128):
        some = Rows()
        some.add_clean(tokens[start : start + 128], start)
        hidden = model.forward([(cache, some)])
        cache.length += 128
        if start >= half:
            following = torch.tensor(tokens[start + 1 : start + 129])
            scores = model.head(hidden[: len(following)]).float().log_softmax(1)
            nats += (-scores.gather(1, following[:, None])[:, 0]).tolist()
            likeliest += scores.argmax(1).tolist()
    return Piece(statistics.mean(nats), tuple(likeliest))


def summary(found: dict[str, list[Piece]]) -> dict[str, float]:
    """By dtype: perplexity and nats a token; and beside the first dtype, nats more, with their 95% interval, and how
    often the most likely token is the same.
    """
    metrics: dict[str, float] = {}
    base = next(iter(found.values()))
    for dtype, of in found.items():
        mean = statistics.mean(piece.nats for piece in of)
        metrics |= {f"{dtype}/perplexity": math.exp(mean), f"{dtype}/nats": mean}
        if of is not base:
            more = [mine.nats - other.nats for mine, other in zip(of, base, strict=True)]
            low, high = interval([str(number) for number in range(len(more))], more)
            same = [
                mine == other
                for one, beside in zip(of, base, strict=True)
                for mine, other in zip(one.likeliest, beside.likeliest, strict=True)
            ]
            metrics |= {f"{dtype}/more_nats": statistics.mean(more), f"{dtype}/more_nats_low": low}
            metrics |= {f"{dtype}/more_nats_high": high, f"{dtype}/same_token": statistics.mean(same)}
    return {name: round(value, 5) for name, value in metrics.items()}


def by_llama(program: Path, gguf: Path, whole: str, number: int) -> dict[str, float]:
    """What llama.cpp's program says of the same pieces: perplexity and its standard error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text"
        file.write_text(whole, encoding="utf-8")
        words = [str(program), "-m", str(gguf), "-f", str(file), "-c", str(LENGTH), "--chunks", str(number)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    estimate = re.search(r"Final estimate: PPL = ([\d.]+) \+/- ([\d.]+)", done.stdout + done.stderr)
    if not estimate:
        raise UserError(f"{program} gave no estimate; its last words: {done.stderr.strip()[-200:]}")
    perplexity, error = map(float, estimate.groups())
    return {f"{LLAMA}/perplexity": perplexity, f"{LLAMA}/perplexity_error": error}


def _text_of(asked: argparse.Namespace) -> str:
    return text(corpus(asked.corpus), 5 * LENGTH * asked.pieces)  # a token has some four characters, seldom more


def _judged(engines: Sequence[str], asked: argparse.Namespace, whole: str) -> dict[str, list[Piece]]:
    found: dict[str, list[Piece]] = {}
    for dtype in engines:
        engine = loaded(catalogue.find(asked.model), dtype, infill_update=False)
        with progress(dtype, asked.pieces) as advance:
            found[dtype] = []
            for piece in pieces(engine, whole, asked.pieces):
                found[dtype].append(judge(engine, piece))
                advance()
    return found


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.quality.perplexity", description="Perplexity by dtype.")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtypes", default="int8,int4", help=f"separated by commas, of {', '.join(DTYPES)}")
    parser.add_argument("--pieces", type=at_least(2), default=40, help=f"of {LENGTH} tokens")
    parser.add_argument("--llama", type=Path, help="llama.cpp's program llama-perplexity, to run it beside")
    parser.add_argument("--corpus", type=Path, help="a corpus with held-out packages, else DLSP_CORPUS_DIR")
    asked = parser.parse_args()
    model, dtypes = catalogue.find(asked.model), asked.dtypes.split(",")
    if unknown := set(dtypes) - set(DTYPES):
        parser.error(f"--dtypes takes {', '.join(DTYPES)}; not {', '.join(unknown)}.")
    whole = _text_of(asked)
    found = _judged(dtypes, asked, whole)
    metrics = summary(found)
    if asked.llama:
        metrics |= by_llama(asked.llama, store.path(model), whole, asked.pieces)
    for name, value in metrics.items():
        print(f"{name:28} {value:.4f}")
    samples = [{dtype: round(of[at].nats, 4) for dtype, of in found.items()} for at in range(asked.pieces)]
    asked.llama = asked.llama and asked.llama.name
    asked.corpus = asked.corpus and asked.corpus.name
    return written(f"perplexity-{model.name}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
