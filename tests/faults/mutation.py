"""Inputs that are nearly right: a seed with something in it left out, replaced, doubled or bent."""

import copy
import json
import random
from typing import Any

JUNK = [
    None,
    True,
    0,
    -1,
    1,
    2**31,
    2**63,
    1e308,
    -0.5,
    "",
    "x",
    "\ud800",
    "\0",
    "é😋",
    "a" * 5000,
    [],
    {},
    [[]],
    [None],
]
JUNK += [{"jsonrpc": "2.0"}, {"line": 0, "character": 0}, float("inf"), float("nan"), "untitled:u"]


def bent(rng: random.Random, seed: Any) -> Any:
    """A copy of `seed` with one to three changes somewhere inside."""
    value = copy.deepcopy(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = _changed(rng, value)
    return value


def damaged(rng: random.Random, body: bytes) -> bytes:
    """`body` with bytes flipped, cut out, doubled or cut off."""
    content = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        kind = rng.randrange(4)
        if kind == 0 and content:
            content[at - 1] = rng.randrange(256)
        elif kind == 1:
            del content[at : at + rng.randint(1, 9)]
        elif kind == 2:
            content[at:at] = content[max(0, at - rng.randint(1, 20)) : at]
        else:
            del content[at:]
    return bytes(content)


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def _changed(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kind = rng.randrange(6)
        if kind == 0:
            del value[key]
        elif kind == 1:
            value[rng.choice(("extra", "id", "jsonrpc", "\ud800", ""))] = rng.choice(JUNK)
        else:
            value[key] = _changed(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        kind = rng.randrange(5)
        if kind == 0:
            del value[at]
        elif kind == 1:
            value.insert(at, copy.deepcopy(value[at]))
        else:
            value[at] = _changed(rng, value[at])
        return value
    return copy.deepcopy(rng.choice(JUNK))
