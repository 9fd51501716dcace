"""What is asked at each size: passages of the standard library, cut to so many tokens."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.peers.prompts import Turn, passage, prompt
from bench.peers.side import Ask
from dlsp_engine.text.tokenizer import Tokenizer

# Tokens that are written where the context grows.
WRITTEN = 16
# Tokens of context where the gap grows, and of each document where users do.
KNOWN = 300
# Tokens of the document whose sites are filled.
SITED = 128
LINE_TOKENS = 24


# Larger sizes than these are measured once: minutes each where a prompt takes that long.
LARGE = {"context": 2048, "gap": 64, "sites": 4, "users": 4}


@dataclass(frozen=True)
class Sizes:
    contexts: Sequence[int]
    gaps: Sequence[int]
    sites: Sequence[int]
    users: Sequence[int]
    rounds: int

    def all(self) -> Iterator[tuple[str, int]]:
        """What is measured, round by round."""
        kinds = {"context": self.contexts, "gap": self.gaps, "sites": self.sites, "users": self.users}
        for turn in range(self.rounds):
            for what, sizes in kinds.items():
                yield from ((what, size) for size in sizes if turn == 0 or size <= LARGE[what])


WHOLE = Sizes((256, 512, 1024, 2048, 4096, 8192), (4, 16, 64, 256), (1, 4, 16, 64), (1, 2, 4, 8), rounds=2)
# As far apart as they tell how cost grows, in a third of the time.
ONCE = Sizes((256, 1024, 4096, 8192), (4, 16, 64, 256), (1, 4, 16), (1, 2, 4), rounds=1)


def written(context: int, gap: int, tokenizer: Tokenizer, rng: random.Random) -> Turn:
    """`gap` tokens to write after `context` that are cached, watched for the first line."""
    text = passage(context, tokenizer, rng)
    ask = Ask(text, "", "", prompt(text, "", "", tokenizer), "token", gap, watched=True)
    return Turn(ask, before=replace(ask, max_tokens=1, watched=False))


def sites(count: int, tokenizer: Tokenizer, rng: random.Random) -> list[Ask]:
    """So many places of one document, each with the rest of its line taken out."""
    text = passage(SITED, tokenizer, rng)
    # After one of these no word is cut in two, and all sides see the same tokens.
    places = [at + 1 for at, char in enumerate(text) if char in "(,=." and text[at + 1] != "\n"]
    chosen = sorted(rng.choices(places, k=count) if count > len(places) else rng.sample(places, count))
    return [_line(text[:at], text[text.index("\n", at) :], tokenizer) for at in chosen]


def users(count: int, tokenizer: Tokenizer, rng: random.Random) -> list[Ask]:
    """As many users, each in a document of their own, each waiting for a line."""
    return [_line(passage(KNOWN, tokenizer, rng), "\n", tokenizer) for _ in range(count)]


def _line(prefix: str, suffix: str, tokenizer: Tokenizer) -> Ask:
    return Ask(prefix, suffix, "", prompt(prefix, suffix, "", tokenizer), "line", LINE_TOKENS, fresh=True)
