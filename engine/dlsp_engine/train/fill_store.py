"""Gaps on disk, or windows to write anew: prompts and answers as tokens in small xz files, and an index."""

import io
import json
import lzma
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlsp_engine.errors import EngineError
from dlsp_engine.train import store
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.recipe import EditRecipe, FillRecipe

INDEX = "fills.json"


def write(path: Path, fills: Sequence[Fill]) -> None:
    """Write gaps whose tokens are below 2**24."""
    tokens = np.array([token for one in fills for token in (*one.prompt, *one.answer)], np.int32)
    buffer = io.BytesIO()
    # Separate planes of low and high bits compress far better than whole numbers.
    np.savez(
        buffer,
        low=(tokens & 0xFFFF).astype(np.uint16),
        high=(tokens >> 16).astype(np.uint8),
        prompts=np.array([len(one.prompt) for one in fills], np.uint16),
        answers=np.array([len(one.answer) for one in fills], np.uint16),
        kinds=np.array([one.kind for one in fills]),
        languages=np.array([one.language for one in fills]),
        shares=np.array([share for one in fills for share in one.shares], np.float32),
    )
    store.replace(path, lzma.compress(buffer.getvalue(), preset=4))


class Shard:
    """The gaps of a file, as arrays: a gap is made when it is asked for."""

    def __init__(self, path: Path) -> None:
        with lzma.open(path) as file, np.load(io.BytesIO(file.read())) as planes:
            found = {name: planes[name] for name in planes.files}
        self._tokens = found["low"].astype(np.int32) | found["high"].astype(np.int32) << 16
        self._prompts, self._answers = (found[name].astype(np.int64) for name in ("prompts", "answers"))
        self._kinds, self._languages, self._shares = found["kinds"], found["languages"], found["shares"]
        self.sizes = self._prompts + self._answers
        self._ends, self._answer_ends = self.sizes.cumsum(), self._answers.cumsum()

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[Fill]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Fill:
        answer, end, share = self._answers[number], self._ends[number], self._answer_ends[number]
        tokens = self._tokens[end - self.sizes[number] : end].tolist()
        shares = tuple(self._shares[share - answer : share].tolist()) if len(self._shares) else ()
        kind, language = str(self._kinds[number]), str(self._languages[number])
        return Fill(tokens[:-answer], tokens[-answer:], kind, language, shares)


def index(folder: Path) -> dict[str, Any]:
    """Return the index: `made`, which says of what and how, and `shards`, which maps split -> file -> gaps. Raises
    EngineError if there is none.
    """
    try:
        return json.loads((folder / INDEX).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"There are no gaps in {folder}; make them with `dlsp train fills`.") from error


def made(folder: Path) -> dict[str, Any]:
    """Return what the gaps were made of, and how."""
    return index(folder)["made"]


def recipe(folder: Path, task: str) -> dict[str, Any]:
    """Return the recipe by which the gaps were made. Raises EngineError if they are for another task, of `infill` and
    `edit`.
    """
    if (found := made(folder))["task"] != task:
        raise EngineError(f"What is in {folder} was made for training of another kind ({found['task']}).")
    return found["recipe"]


def same_gaps(folder: Path, stored: FillRecipe | EditRecipe, wanted: FillRecipe | EditRecipe) -> None:
    """Raise EngineError if the recipe that is wanted draws other gaps than the stored ones."""
    for name in stored.DRAWN:
        if getattr(stored, name) != getattr(wanted, name):
            raise EngineError(f"The gaps in {folder} were made with another '{name}' than the recipe's; make others.")


class StoredFills:
    """The gaps of a split, packed in order into forward passes of at most `tokens` tokens; after the last they begin
    again. Files are read when they are reached.
    """

    def __init__(self, folder: Path, split: str, tokens: int) -> None:
        self._folder, self._tokens = folder, tokens
        shards = index(folder)["shards"].get(split, {})
        self._shards = [name for name in shards if (folder / name).exists()]
        if not self._shards:
            raise EngineError(f"There are no gaps for '{split}' in {folder}; make them with `dlsp train fills`.")
        self._read: list[tuple[Shard, list[range]]] = []  # with the gaps of each forward pass

    def batch(self, turn: int) -> list[Fill]:
        """Return the gaps of forward pass number `turn`, which are the same at every call."""
        for number, name in enumerate(self._shards):
            if number == len(self._read):
                shard = Shard(self._folder / name)
                self._read.append((shard, _packed(shard.sizes.tolist(), self._tokens)))
            shard, batches = self._read[number]
            if turn < len(batches):
                return [shard[i] for i in batches[turn]]
            turn -= len(batches)
        return self.batch(turn % sum(len(batches) for _, batches in self._read))

    def held_out(self, each: int) -> list[Fill]:
        """Return the first `each` gaps of each kind."""
        of_kind: dict[str, list[Fill]] = defaultdict(list)
        for name in self._shards:
            for one in Shard(self._folder / name):
                of_kind[one.kind].append(one)
        return [one for fills in of_kind.values() for one in fills[:each]]


def _packed(sizes: Sequence[int], most: int) -> list[range]:
    """Return the numbers of the gaps of each forward pass: as many as have `most` tokens together, or one."""
    starts, size = list[int](), most
    for number, own in enumerate(sizes):
        if size + own > most:
            starts.append(number)
            size = 0
        size += own
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True)]
