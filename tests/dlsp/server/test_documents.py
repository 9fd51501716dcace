"""Documents against a plain model of the text: positions worked out on encoded bytes, as the protocol defines them."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import Workspace

from dlsp.server.documents import Document, Documents
from dlsp.server.features.inline_completion import item
from tests.dlsp.editor import CODECS, WIDTH, applied

# A tab, wide and combining characters, beyond the basic plane, right to left; line ends, and what looks like them.
PIECES = [
    "a",
    "b = 1",
    " ",
    "\t",
    "é",
    "e\u0301",
    "あ",
    "😋",
    "👩\u200d👧",
    "\u05d0\u05d1",
    "\u202e",
    "\n",
    "\r\n",
    "\r",
]
PIECES += ["\f", "\v", "\x1c", "\x85", "\u2028", "\u2029", "\0"]
ENDING = re.compile("\r\n|\n|\r")

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@dataclass
class Plain:
    """The text as a string, edited by byte offsets in the editor's encoding."""

    text: str
    encoding: str

    def places(self) -> list[types.Position]:
        """Every position between two characters that an editor can name, and some beyond their lines."""
        found = []
        starts = [0, *(ending.end() for ending in ENDING.finditer(self.text))]
        for number, start in enumerate(starts):
            ending = ENDING.search(self.text, start)
            line = self.text[start : ending.start() if ending else len(self.text)]
            units = [len(line[:column].encode(CODECS[self.encoding])) for column in range(len(line) + 1)]
            found += [types.Position(number, each // WIDTH[self.encoding]) for each in [*units, units[-1] + 40]]
        return found

    def offset(self, place: types.Position) -> int:
        starts = [0, *(ending.end() for ending in ENDING.finditer(self.text))]
        start = starts[place.line]
        ending = ENDING.search(self.text, start)
        line = self.text[start : ending.start() if ending else len(self.text)]
        encoded = line.encode(CODECS[self.encoding])[: place.character * WIDTH[self.encoding]]
        return start + len(encoded.decode(CODECS[self.encoding]))


def check_one_sequence(data: st.DataObject) -> None:
    encoding = data.draw(st.sampled_from(list(CODECS)))
    plain = Plain(data.draw(texts), encoding)
    documents = Documents(Workspace(None, position_encoding=types.PositionEncodingKind(encoding)))
    documents.put_text_document(types.TextDocumentItem("untitled:a", "python", 1, plain.text))
    document = documents.text_documents["untitled:a"]
    assert isinstance(document, Document)
    for _ in range(data.draw(st.integers(1, 8))):
        places = plain.places()
        one, other = (data.draw(st.sampled_from(places)) for _ in range(2))
        start, end = sorted((plain.offset(each), each.line, each.character) for each in (one, other))
        new = data.draw(texts)
        first, last = types.Position(*start[1:]), types.Position(*end[1:])
        document.apply_change(types.TextDocumentContentChangePartial(types.Range(first, last), new))
        plain.text = plain.text[: start[0]] + new + plain.text[end[0] :]
        assert "".join(document.lines) == plain.text
        assert document.source == plain.text
    place = data.draw(st.sampled_from(plain.places()))
    found = document.cursor(place)
    assert found is not None
    assert found[0] == plain.offset(place)
    suggestion = data.draw(texts)
    before, after = plain.text[: found[0]], plain.text[found[0] :]
    assert applied(item(suggestion, found[1]), plain.text, encoding) == before + suggestion + after
    lines = len(ENDING.findall(plain.text)) + 1
    assert document.cursor(types.Position(lines, 0)) is None


quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]


def check(sequences: int) -> None:
    @settings(max_examples=sequences, deadline=None, suppress_health_check=quiet)
    @given(st.data())
    def each(data: st.DataObject) -> None:
        check_one_sequence(data)

    each()


def test_random_edits() -> None:
    check(300)


@pytest.mark.prove
def test_ten_thousand_sequences_of_random_edits() -> None:
    check(10_000)


def open_document(text: str, encoding: str = "utf-16") -> Document:
    documents = Documents(Workspace(None, position_encoding=types.PositionEncodingKind(encoding)))
    documents.put_text_document(types.TextDocumentItem("untitled:a", "python", 1, text))
    document = documents.text_documents["untitled:a"]
    assert isinstance(document, Document)
    return document


def change(document: Document, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
    where = types.Range(types.Position(*start), types.Position(*end))
    document.apply_change(types.TextDocumentContentChangePartial(where, text))


def test_a_line_end_put_together_and_taken_apart() -> None:
    document = open_document("a\rb")
    change(document, (1, 0), (1, 0), "\n")
    assert document.lines == ["a\r\n", "b"]
    change(document, (0, 1), (1, 0), "\r")
    change(document, (1, 0), (1, 0), "\nc")
    assert document.lines == ["a\r\n", "cb"]


def test_a_range_the_wrong_way_round() -> None:
    document = open_document("one two")
    change(document, (0, 7), (0, 3), "")
    assert document.source == "one"


def test_half_a_character_is_its_start() -> None:
    document = open_document("😋x")
    assert document.cursor(types.Position(0, 1)) == (0, types.Position(0, 0))


def test_a_keystroke_in_a_long_file_is_quick() -> None:
    """A small fraction of the processor's time that it takes to open it."""
    import time

    began = time.process_time()
    document = open_document("value = compute(1, 2)  # a line of code\n" * 50_000)
    opened = time.process_time() - began
    began = time.process_time()
    for column in range(200):
        change(document, (25_000, column), (25_000, column), "x")
    assert (time.process_time() - began) / 200 < opened / 10
    assert document.lines[25_000].startswith("x" * 200)
