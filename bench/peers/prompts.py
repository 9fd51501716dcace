"""What is asked in each gap: passages of the standard library for plain speed, HumanEval-Infilling for lines."""

import random
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bench.identity.gaps import MODULES
from bench.peers.side import Ask
from bench.quality.sets import Task, load
from dlsp_engine.text.tokenizer import Tokenizer

SHORT, LONG = 300, 1000  # tokens
DECODED = 32
LINE_TOKENS = 64
# Characters that a line must have for a half of it to be typed.
LEAST = 8


@dataclass(frozen=True)
class Turn:
    """What is measured, and what is asked before it so that it finds its prompt cached."""

    ask: Ask
    before: Ask | None = None


@dataclass(frozen=True)
class Round:
    """All that is asked in one gap: a turn for each of `measure.MEASURES`."""

    task: str
    turns: dict[str, Turn]


def chosen(count: int, seed: int = 0) -> list[Task]:
    """Random single-line tasks whose line is long enough to be typed in part. Raises sets.Missing without the data."""
    tasks = [task for task in load("single-line") if len(task.canonical.strip()) >= LEAST]
    return random.Random(seed).sample(tasks, min(count, len(tasks)))


def rounds(tasks: Sequence[Task], tokenizer: Tokenizer, seed: int = 0) -> list[Round]:
    rng = random.Random(seed)
    return [_round(task, tokenizer, rng) for task in tasks]


def _round(task: Task, tokenizer: Tokenizer, rng: random.Random) -> Round:
    line = task.canonical.rstrip("\n")
    cut, suffix = _cut(line, tokenizer), task.suffix if tokenizer.template.fim else ""
    short = passage(SHORT, tokenizer, rng)

    def ask(prefix: str, suffix: str, middle: str, end: str, most: int, fresh: bool = False) -> Ask:
        return Ask(prefix, suffix, middle, prompt(prefix, suffix, middle, tokenizer), end, most, fresh)

    long = ask(passage(LONG, tokenizer, rng), "", "", "token", 1, fresh=True)
    decode = ask(short, "", "", "token", DECODED)
    whole, before, typed = (
        ask(task.prefix, suffix, middle, "line", LINE_TOKENS) for middle in ("", line[: cut - 1], line[:cut])
    )
    turns = {
        "prefill-1000": Turn(long),
        "prefill-300": Turn(ask(short, "", "", "token", 1, fresh=True)),
        "decode": Turn(decode, before=replace(decode, max_tokens=1)),
        "line": Turn(whole, before=replace(whole, max_tokens=1)),
        "typed": Turn(typed, before=before),
        "cold-line": Turn(replace(whole, fresh=True)),
    }
    return Round(task.id, turns)


def prompt(prefix: str, suffix: str, middle: str, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The prompt that every side is given: fill-in-the-middle, or without the suffix where the model has none."""
    fim, before = tokenizer.template.fim, tokenizer.encode(prefix)
    around = fim.around(before, tokenizer.encode(suffix)) if fim else before
    return (*tokenizer.template.start, *around, *tokenizer.encode(middle))


def _cut(line: str, tokenizer: Tokenizer) -> int:
    """How much of the line is typed: about half, up to where a token ends.

    llama.cpp does not heal a token that the cursor cuts in two; it would go on with another text, and the times
    would be of different lines.
    """
    half = len(line) - len(line.strip()) // 2
    tokens = tokenizer.encode(line)
    heads = [tokens[:number] for number in range(1, len(tokens))]
    ends = [len(text) for head in heads if tokenizer.encode(text := tokenizer.decode(head)) == head]
    return min(ends, key=lambda end: abs(end - half), default=half)


def passage(tokens: int, tokenizer: Tokenizer, rng: random.Random) -> str:
    """Whole lines from a random place of the library, about so many tokens long."""
    text = _library()
    start = text.index("\n", rng.randrange(len(text) - 20 * tokens)) + 1
    known = tokenizer.encode(text[start : start + 10 * tokens])[:tokens]
    return tokenizer.decode(known).rpartition("\n")[0] + "\n"


@cache
def _library() -> str:
    folder = Path(sysconfig.get_path("stdlib"))
    return "\n".join(path.read_text("utf-8") for name in MODULES if (path := folder / f"{name}.py").exists())
