"""`python -m dlsp_engine.train.fill_samples`: cuts gaps from a corpus, or windows to write anew from edits, and stores
them as tokens, so that training needs neither corpus nor tokenizer.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from dlsp_engine.errors import EngineError, exit_on_error
from dlsp_engine.text.tokenizer import ModelTokenizer, Tokenizer
from dlsp_engine.train import fill_store, store
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fills import Fill, Fills
from dlsp_engine.train.recipe import EditRecipe, FillRecipe
from dlsp_engine.train.samples import manifest_hash
from dlsp_engine.train.windows import Windows

FORMAT = 1
SHARD_TOKENS = 4 << 20

# Draws the training gaps, one after the other, and `each` held-out ones of each kind.
Source = tuple[Callable[[random.Random], Fill], Callable[[int], list[Fill]]]


def build(out: Path, made: dict[str, Any], source: Callable[[], Source], tokens: int, each: int) -> None:
    """Write held-out gaps, training gaps of `tokens` tokens in all and the index, or continue an unfinished build.

    The same sources and settings give the same files, even if the build was interrupted.
    """
    out.mkdir(parents=True, exist_ok=True)
    state = _state(out, made)
    shards = state["shards"]
    if "heldout" in shards and state["tokens"] >= tokens:
        return
    draw, held_out = source()
    if "heldout" not in shards:
        _add(out, state, "heldout", held_out(each))
    while state["tokens"] < tokens:
        rng = random.Random(f"{made['recipe']['seed']}/{len(shards.get('train', {}))}")
        fills, size, most = list[Fill](), 0, min(SHARD_TOKENS, tokens - state["tokens"])
        while size < most:
            fills.append(draw(rng))
            size += len(fills[-1].prompt) + len(fills[-1].answer)
        state["tokens"] += size
        state["answers"] += sum(len(one.answer) for one in fills)
        _add(out, state, "train", fills)


def digest(path: Path) -> str:
    """Return the first digits of a file's SHA-256. Raises EngineError."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise EngineError(f"{path} cannot be read ({error}); give a file of mined edits.") from error


def _state(out: Path, made: dict[str, Any]) -> dict[str, Any]:
    if not (out / fill_store.INDEX).exists():
        return {"made": made, "shards": {}, "tokens": 0, "answers": 0}
    state = fill_store.index(out)
    if state["made"] != made:
        other = next(key for key in made if state["made"].get(key) != made[key])
        raise EngineError(f"The gaps in {out} were made with another {other}; give another folder with --out.")
    return state


def _add(out: Path, state: dict[str, Any], split: str, fills: Sequence[Fill]) -> None:
    shards = state["shards"].setdefault(split, {})
    name = f"{split}-{len(shards):05}.npz.xz"
    fill_store.write(out / name, fills)
    shards[name] = len(fills)
    store.replace(out / fill_store.INDEX, json.dumps(state, indent=1).encode())
    print(f"{name}  {len(fills)} gaps  {state['tokens'] / 1e6:.1f} M tokens", flush=True)


def _of_corpus(corpus: Path, tokenizer: Tokenizer, recipe: FillRecipe) -> Source:
    held = Fills(Documents(corpus, "heldout", recipe.seed, recipe.held_out), tokenizer, recipe)
    return Fills(Documents(corpus, "train", recipe.seed, recipe.held_out), tokenizer, recipe).draw, held.held_out


def _of_edits(
    edits: Sequence[Path], held_out: Sequence[Path], corpus: Path | None, tokenizer: Tokenizer, recipe: EditRecipe
) -> Source:
    of_corpus = {split: Documents(corpus, split, recipe.seed) if corpus else None for split in ("train", "heldout")}
    held = Windows(held_out, of_corpus["heldout"], tokenizer, recipe)
    return Windows(edits, of_corpus["train"], tokenizer, recipe).draw, held.held_out


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dlsp train fills", description="Make gaps, or windows, to train on.")
    add = parser.add_argument
    add("--corpus", type=Path, metavar="DIR", help="what `dlsp train corpus` built")
    add("--edits", type=Path, nargs="+", default=[], metavar="FILE", help="mined edits: makes windows, not gaps")
    add("--held-out", type=Path, nargs="+", default=[], metavar="FILE", help="edits of other projects, to score on")
    add("--recipe", default="", help="its name or a JSON file (default infill-gpu, with --edits edit-gpu)")
    add("--weights", type=Path, required=True, metavar="DIR", help="converted model: its tokenizer")
    add("--out", type=Path, required=True, metavar="DIR", help="where they go; resumed if there")
    add("--tokens", type=float, default=60e6, metavar="N", help="of all prompts and answers (default 60e6)")
    add("--held-out-gaps", type=int, default=60, metavar="N", help="of each kind (default %(default)s)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    given = options().parse_args(arguments)
    corpus, edits, held_out = given.corpus, given.edits, given.held_out
    if bool(edits) != bool(held_out) or not (corpus or edits):
        sys.exit("Give --corpus for gaps, or --edits and --held-out for windows.")
    with exit_on_error("Stopped: run this again to go on."):
        tokenizer = ModelTokenizer(given.weights)
        made: dict[str, Any] = {"format": FORMAT, "corpus": manifest_hash(corpus) if corpus else ""}
        made["tokenizer"] = sha256((given.weights / "tokenizer.json").read_bytes()).hexdigest()
        if edits:
            windows = EditRecipe.read(given.recipe or "edit-gpu")
            made |= {"task": "edit", "edits": " ".join(map(digest, edits)), "recipe": json.loads(windows.to_json())}
            source = lambda: _of_edits(edits, held_out, corpus, tokenizer, windows)  # noqa: E731
        else:
            gaps = FillRecipe.read(given.recipe or "infill-gpu")
            made |= {"task": "infill", "recipe": json.loads(gaps.to_json())}
            source = lambda: _of_corpus(corpus, tokenizer, gaps)  # noqa: E731
        build(given.out, made, source, int(given.tokens), given.held_out_gaps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
