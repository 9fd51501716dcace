"""Invariant 4: a suggestion applied to the document changes nothing outside its range.

Random documents, answers and encodings; what the editor does with them is `applied`.
"""

import random
import re

import pytest
from lsprotocol.types import Position, PositionEncodingKind
from pygls.workspace import Workspace

from dlsp.completions.filters import trim
from dlsp.server.documents import Document, Documents
from dlsp.server.features.inline_completion import item
from tests.dlsp.editor import CODECS, WIDTH, applied

PIECES = [
    "x",
    "é",
    "漢",
    "😋",
    " ",
    "\t",
    "(",
    ")",
    '"',
    "return a",
    "\f",
    "\u2028",
    "\x85",
    "<|endoftext|>",
    "\n\n",
]


def some_text(random: random.Random, ending: str) -> str:
    return "".join(random.choice([*PIECES, ending]) for _ in range(random.randrange(12)))


def open_document(text: str, encoding: str) -> Document:
    documents = Documents(Workspace(None, position_encoding=PositionEncodingKind(encoding)))
    document = documents._create_text_document("file:///a.py", source=text)
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize("encoding", CODECS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_nothing_outside_changes(encoding: str, ending: str) -> None:
    chance = random.Random(f"{encoding}{ending}")
    for _ in range(500):
        before, after = (some_text(chance, ending).replace("\n\n", ending) for _ in range(2))
        position = Position(
            len(re.findall("\r\n|\n|\r", before)),
            len(re.split("\r\n|\n|\r", before)[-1].encode(CODECS[encoding])) // WIDTH[encoding],
        )
        document = open_document(before + after, encoding)
        cursor = document.cursor(position)
        assert cursor == (len(before), position)
        answer = trim(some_text(chance, "\n") + chance.choice(["", after[:5]]), before, after)
        assert applied(item(answer, position), before + after, encoding) == before + answer + after
        assert "<|endoftext|>" not in answer
        assert ending == "\n" or not re.search(r"(?<!\r)\n", answer) or "\n" not in before + after
