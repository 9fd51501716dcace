"""`python -m dlsp_engine.train.samples`: turns the corpus into rows of tokens, so that training need not tokenize."""

import argparse
import json
import lzma
import random
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dlsp_engine.errors import EngineError, exit_on_error
from dlsp_engine.text.tokenizer import ModelTokenizer, Tokenizer
from dlsp_engine.train import gaps, segments, store
from dlsp_engine.train.documents import Documents, Stream

FORMAT = 2
HELD_OUT_ROWS = 512
GAPS = "gaps.jsonl.xz"
# Held-out gaps of each kind, in Python and in each other language.
PYTHON_GAPS, OTHER_GAPS = 80, 12

# The number of characters kept around a held-out gap.
HELD_OUT_WINDOW_CHARACTERS = 2_100

# The least length of a segment, as long as a row has room for one.
MIN_SEGMENT_TOKENS = 128


def build(corpus: Path, out: Path, tokenizer: Tokenizer, tokens: int, length: int, seed: int, name: str = "") -> None:
    """Write the shards of both splits, the held-out gaps and the index, or continue an unfinished build. `name` is the
    tokenizer's hash.

    The same corpus and settings give the same files, even if the build was interrupted.
    """
    recipe = {"format": FORMAT, "corpus": manifest_hash(corpus), "tokenizer": name, "length": length, "seed": seed}
    out.mkdir(parents=True, exist_ok=True)
    state = _state(out, recipe)
    for split, rows in (("heldout", HELD_OUT_ROWS), ("train", -(-tokens // length))):
        _fill(corpus, out, state, split, rows, tokenizer)
    if not (out / GAPS).exists():
        store.replace(out / GAPS, _gaps(Documents(corpus, "heldout", seed), seed))


def manifest_hash(corpus: Path) -> str:
    """Return the hash of a finished corpus. Raises EngineError if the corpus is not finished."""
    try:
        return json.loads((corpus / "manifest.json").read_text("utf-8"))["hash"]
    except (OSError, ValueError, KeyError) as error:
        raise EngineError(f"There is no finished corpus in {corpus}; build it with `dlsp train corpus`.") from error


def _state(out: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    if not (out / store.INDEX).exists():
        return {"recipe": recipe, "length": recipe["length"], "shards": {}, "position": {}}
    state = store.index(out)
    if state["recipe"] != recipe:
        other = next(key for key in recipe if state["recipe"].get(key) != recipe[key])
        raise EngineError(f"The samples in {out} were made with another {other}; give another folder with --out.")
    return state


def _fill(corpus: Path, out: Path, state: dict[str, Any], split: str, rows: int, tokenizer: Tokenizer) -> None:
    length, seed = state["length"], state["recipe"]["seed"]
    made = state["shards"].setdefault(split, {})
    if (missing := rows - sum(made.values())) <= 0:
        return
    documents = Documents(corpus, split, seed)
    while missing > 0:
        number, count = len(made), min(missing, max(1, store.SHARD_TOKENS // length))
        rng = random.Random(f"{seed}/{split}/{number}")
        stream = Stream(documents, tokenizer, state["position"].get(split, 0), rng)
        packed = [_packed(stream, length, rng) for _ in range(count)]
        shard = f"{split}-{number:05}.npz.xz"
        store.write(out / shard, np.array([p.tokens for p in packed]), np.array([p.marks for p in packed], np.uint8))
        made[shard] = count
        state["position"][split] = stream.position
        store.replace(out / store.INDEX, json.dumps(state, indent=1).encode())
        missing -= count
        print(f"{shard}  {count * length / 1e6:.1f} M tokens", flush=True)


def _packed(stream: Stream, length: int, rng: random.Random) -> segments.Segment:
    """Return one row: segments one after the other, the last as long as the room that is left."""
    tokens: list[int] = []
    marks: list[int] = []
    while (left := length - len(tokens)) > 0:
        room = left if left < 2 * MIN_SEGMENT_TOKENS else rng.randint(MIN_SEGMENT_TOKENS, left)
        more = stream.segment(room)
        tokens += more.tokens
        marks += more.marks
    return segments.Segment(tokens, marks)


def _gaps(documents: Documents, seed: int) -> bytes:
    """Return held-out gaps as compressed JSON lines, the same number of each kind: the engine itself is measured on
    them.
    """
    rng = random.Random(f"{seed}/gaps")
    wanted: dict[tuple[str, str], int] = {}
    lines: list[str] = []
    for position in range(4 * len(documents.rows)):
        number = documents.at(position)
        row = documents.rows[number]
        language = row["language"]
        most = PYTHON_GAPS if language == "python" else OTHER_GAPS
        kind = min(gaps.ENDS, key=lambda kind: (wanted.get((language, kind), 0), rng.random()))
        if wanted.get((language, kind), 0) >= most:
            continue
        if not (found := documents.gap(number, kind, HELD_OUT_WINDOW_CHARACTERS, rng)):
            continue
        wanted[language, kind] = wanted.get((language, kind), 0) + 1
        gap, middle = found
        files = [[file.path, file.text] for file in gap.files]
        line = {"kind": kind, "language": language, "package": row["package"], "path": gap.path, "files": files}
        lines.append(
            json.dumps(line | {"prefix": gap.prefix, "suffix": gap.suffix, "middle": middle}, ensure_ascii=False)
        )
    return lzma.compress("\n".join(lines).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dlsp train samples", description="Make training samples.")
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="what `dlsp train corpus` built")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where they go; resumed if there")
    parser.add_argument("--weights", type=Path, required=True, metavar="DIR", help="converted model: its tokenizer")
    parser.add_argument("--tokens", type=float, default=64e6, metavar="N", help="of the training split (default 64e6)")
    parser.add_argument("--length", type=int, default=512, metavar="N", help="tokens of a sample (default 512)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with exit_on_error("Stopped: run this again to go on."):
        tokenizer = ModelTokenizer(options.weights)
        name = sha256((options.weights / "tokenizer.json").read_bytes()).hexdigest()
        build(options.corpus, options.out, tokenizer, int(options.tokens), options.length, options.seed, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
