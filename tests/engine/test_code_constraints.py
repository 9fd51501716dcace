"""Constraints on code: allowed identifiers and balanced code, in every mode, and each mask against every token."""

import random
import re

import pytest

from dlsp_engine.decode.balanced import Balance
from dlsp_engine.decode.constraint import Constraint
from dlsp_engine.decode.draft import Drafter
from dlsp_engine.decode.identifiers import Identifiers
from dlsp_engine.decode.modes import Words
from dlsp_engine.decode.name_places import Places
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import ByteTokenizer

NAMES = ["append", "app", "items", "define", "x", "größe", "len"]
PIECES = [
    *("app", "append", "items", "item", "it", "def", "de", "fine", "len", "le", "gr", "foo", " foo", "from", ".app"),
    *(".append(", ".items()", ".foo", ".foo(", "end(", "pp(", "f ", "ef foo(", "n(", "foo(", "(foo(", " (len(", ".."),
    *("...", ".\n", ". ", ").app", '".app', '".foo', "'.x", '""', '"""', "# .foo(", "// .foo(", "1.", "1.foo", "()"),
    *("([", "])", ")]", "{}", "[(]", "(]", "\n)", ")\n", ")\n)", "(\n", '("', '")', "')", "\\\n", '\\"', '"\n', "\n\n"),
]
PIECES += [".(", "?.(", ".[", ".#foo", "#app", ".0", "0)", ".\n\t", "\n\tfoo", "\tapp", "if (", "if(", "f(", " func"]
PIECES += ["c (", " import", "'a", "'a>", "'(", "&'", "')'"]
FRAGMENTS = ["app", "items", "foo", "def ", "from ", "func ", "'a", *".()[]{}\"' \n#/1ß"]


class PiecesTokenizer(ByteTokenizer):
    """A token for each byte, and some for what stands together in code."""

    words = 256 + len(PIECES)
    prefix, middle, suffix, repository, file, end = range(words, words + 6)
    stops = frozenset(range(words, words + 6))

    def token_bytes(self, token: int) -> bytes:
        if 256 <= token < self.words:
            return PIECES[token - 256].encode()
        return bytes([token]) if token < 256 else b""


PLACES = Places(Words(PiecesTokenizer()))


def check_masks(constraint: Constraint, rng: random.Random, steps: int) -> None:
    """Go along allowed tokens, and compare the mask of each place with what is said of each token alone."""
    tokens = range(PLACES.words.size)
    for _ in range(steps):
        mask = constraint.allowed()
        assert mask is not None
        wrong = [PLACES.words.tokenizer.token_bytes(t) for t in tokens if bool(mask[t]) != (constraint.valid([t]) == 1)]
        assert not wrong
        going_on = [token for token in tokens if mask[token] and token < PLACES.words.tokenizer.words]
        run = rng.sample(going_on, 2)
        assert constraint.valid(run[:1]) == 1
        constraint.advance(run[0])
        if constraint.valid(run[1:]):
            constraint.advance(run[1])
            constraint.rollback(1)
        constraint.rollback(1)
        again = constraint.allowed()
        assert again is not None
        assert again.tolist() == mask.tolist()
        constraint.advance(run[0])


@pytest.mark.parametrize("path", ["a.py", "a.c", "a.rs", "a.rb"])
@pytest.mark.parametrize("number", range(20))
def test_masks_say_of_each_token_what_is_said_of_it_alone(path: str, number: int):
    rng = random.Random(number)
    text = "".join(rng.choices(FRAGMENTS, k=rng.randrange(12)))
    gap = Gap(text, "".join(rng.choices(FRAGMENTS, k=rng.randrange(6))), path=path)
    standing = rng.randrange(1 + min(3, len(text.encode())))
    for required in (Identifiers(NAMES, PLACES), Balance(PLACES.words)):
        required.prepare(gap, standing)
        constraint = required.begin(gap, standing, rng.choice(["token", "line"]))
        if not constraint.free:
            check_masks(constraint, rng, 12)


def accepted(constraint: Constraint, text: str, end: bool = True) -> bool:
    """Whether a text, byte by byte, and the end behind it are allowed."""
    tokens = [*text.encode(), PLACES.words.tokenizer.stops and min(PLACES.words.tokenizer.stops)]
    return constraint.valid(tokens if end else tokens[:-1]) == len(tokens) - (not end)


@pytest.mark.parametrize(
    ("before", "text", "behind", "allowed"),
    [
        ("x.", "app", "\n", True),
        ("x.", "foo", "\n", False),
        ("x.", "ap", "\n", False),
        ("x.", "ap", "pend(1)\n", True),
        ("x.a", "ppend(y.items)", "\n", True),
        ("x.a", "ppend(y.foo)", "\n", False),
        ("", "len(foo)", "\n", True),
        ("", "foo(len)", "\n", False),
        ("", "foo", "(1)\n", False),
        ("fo", "o = 1", "\n", True),
        ("", "def foo(bar): return len(bar)", "\n", True),
        ("def ", "foo(bar)", "\n", True),
        ("", "from .foo import bar", "\n", True),
        ("", "1.5 + x.items[0].app", "\n", True),
        ("", 'f = "a.foo(".x', "\n", True),
        ("", 'f = "a.foo(".foo', "\n", False),
        ("", "a  # b.foo()\n", "\n", True),
        ("(a\n    ", ".foo()", "\n", False),
        ("", "*args, ...", "\n", True),
        ("x.unknow", "n(foo.bar())", "\n", True),  # the name at the cursor is none of them: nothing is required
    ],
)
def test_names_after_dots_and_of_calls(before: str, text: str, behind: str, allowed: bool):
    constraint = Identifiers(NAMES, PLACES).begin(Gap(before, behind, path="a.py"), 0)
    assert accepted(constraint, text) == allowed


@pytest.mark.parametrize(
    ("path", "before", "text", "allowed"),
    [
        ("a.go", "n, ok := x", ".(int)", True),
        ("a.go", "x.", "(int)", True),
        ("a.go", "x.", "(foo(1))", False),
        ("a.go", "x", ".\n\tapp(1)", True),
        ("a.go", "x", ".\n\tfoo(1)", False),
        ("a.go", "x", ".\n", False),
        ("a.go", "func (s *Server) ", "foo(n int) { s.app(n) }", True),
        ("a.go", "func (s *Server) ", "foo(n int) { s.foo(n) }", False),
        ("a.go", "", "func(n int) { }", True),
        ("a.js", "a", "?.(1)", True),
        ("a.js", "a?.", "[0].app", True),
        ("a.js", "a?.", "[0].foo", False),
        ("a.js", "this.", "#app = 1", True),
        ("a.js", "this.", "#foo = 1", False),
        ("a.js", "", "if(x) { while (len(x)) { } }", True),
        ("a.js", "", "if(x) { foo (x); bar(x); }", False),
        ("a.rs", "let y = pair", ".0 + pair.1", True),
        ("a.rs", "let y = pair.", "0.foo(1)", False),
        ("a.rs", "fn f<'a>(x: &'a str) { ", "x.app }", True),
        ("a.rs", "fn f<'a>(x: &'a str) { ", "x.foo }", False),
        ("a.rs", "let c = ", "['a', '\\'', '.', '(']; x.app", True),
        ("a.rs", "let c = ", "['a', '\\'', '.', '(']; x.foo", False),
        ("a.java", "", "import foo.bar.*;\nx.app();", True),
        ("a.java", "", "import foo.bar.*;\nx.foo();", False),
        ("a.py", "", "from foo.bar import x\n", True),
        ("a.py", "", "import foo.bar\nfoo.bar\n", False),
        ("a.py", "x.", "(app)", False),
        ("a.py", "x.", "0", False),
    ],
)
def test_what_follows_a_dot_in_each_language(path: str, before: str, text: str, allowed: bool):
    constraint = Identifiers(NAMES, PLACES).begin(Gap(before, "\n", path=path), 0)
    assert accepted(constraint, text) == allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("x: &'a str)", True),
        ("x: &'a str", False),
        ("')')", True),
        ("')'", False),
        ("'\\'')", True),
        ("x: &'a (u8, &'b T))", True),
        ("x: &'", False),
    ],
)
def test_a_lifetime_of_rust_is_no_string(text: str, allowed: bool):
    assert accepted(Balance(PLACES.words).begin(Gap("fn f(", "\n", path="a.rs"), 0), text) == allowed


@pytest.mark.parametrize(
    ("before", "text", "behind", "allowed"),
    [
        ("f(", "x)", "\n", True),
        ("f(", "x", "\n", False),
        ("f(", "x", ")\n", True),
        ("f(", "x)", ")\n", False),
        ("f(", "x, (y)", ")\n", True),
        ("f(", "x]", ")\n", False),
        ("if (a) { f(", "x);", "\n}\n", True),
        ("if (a) { f(", "x); }", "\n}\n", False),
        ("if (a) { f(", "x); }", "\n", True),
        ("x = ", "f(1", ")\n", True),
        ("x = ", "1", ")\n", False),
        ("x = ", "1", "\n)\n", True),  # further down it may be misread
        ("x = ", "{", "\n    1: 2,\n}\n", True),
        ("x = ", "(", "\n    1: 2,\n}\n", False),
        ("f(", "[", "\n    1,\n])\n", True),
        ('f("', "text", '")\n', True),
        ('f("', 'text"', '")\n', False),
        ('f("', 'text")', "\n", True),
        ('f("', "text\n", '")\n', False),
        ("f(", '"text', '")\n', True),
        ("", '"a', "\n", False),
        ("", '"(" + ")"', "\n", True),
        ("", "x  # (", "\n", True),
        ("# see (", "this", "\n", True),
        ('"""a', 'b"""', "\n", True),
        ('"""a', "b", '"""\nx = 1\n', True),
        ('"""a', 'b"""', '"""\nx = 1\n', False),
        ("f(1]", "x)", "\n", True),
    ],
)
def test_what_is_open_is_closed(before: str, text: str, behind: str, allowed: bool):
    constraint = Balance(PLACES.words).begin(Gap(before, behind, path="a.py"), 0)
    assert accepted(constraint, text) == allowed


def test_a_line_ends_balanced():
    gap = Gap("f(", "\n", path="a.py")
    assert not accepted(Balance(PLACES.words).begin(gap, 0, "line"), "a,\n", end=False)
    assert accepted(Balance(PLACES.words).begin(gap, 0, "line"), "a)\n", end=False)
    assert accepted(Balance(PLACES.words).begin(gap, 0, "line"), "\n    a)\n", end=False)
    assert accepted(Balance(PLACES.words).begin(gap, 0, "token"), "a,\n", end=False)


CASES = [
    {"identifiers": NAMES},
    {"balanced": True},
    {"identifiers": NAMES, "balanced": True},
    {"identifiers": ["a", "b"], "regex": r"a\.[a-z](\.[ab]){1,3}"},
    {"balanced": True, "regex": r"[()\[\]ab]{6,}"},
]


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("end", ["token", "line", "block"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_verified_is_autoregressive(tiny: Engine, number: int, end: str, temperature: float):
    constraint, rng = tiny.grammars(CASES[number]), random.Random(number)
    if constraint.whole and end != "token":
        return
    for before, behind in (("f(x.", ")\n"), ("x = [", "\n"), ("def foo", '")\n'), ("y.it", "")):
        gap = Gap(before, behind, path="a.py")
        common = {"temperature": temperature, "seed": 5, "max_tokens": 24, "constraint": constraint, "end": end}
        expected = tiny.fill(gap, Options(mode="autoregressive", **common))
        start = expected.cost.prompt_tokens

        def right(tokens: list[int]) -> tuple[list[int], list[float]]:
            drafted = list(expected.tokens[len(tokens) - start :][:5])  # noqa: B023 - used within the round
            spoiled = [token if rng.random() < 0.8 else rng.randrange(262) for token in drafted]
            return spoiled, [0.8] * len(spoiled)

        drafters: list[Drafter | None] = [None, right, lambda tokens: ([40, 41, 261], [0.8] * 3)]
        for drafter in drafters:
            schedule = rng.choice(["auto", "split", "merged"])
            fill = tiny.fill(gap, Options(schedule=schedule, draft=3, copy=False, **common), drafter=drafter)
            assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason)


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_every_mode_keeps_to_them(tiny: Engine, mode: str):
    required = tiny.grammars({"identifiers": ["ab", "cd"], "balanced": True})
    for seed in range(4):
        options = Options(mode=mode, temperature=1, seed=seed, max_tokens=60, constraint=required)
        fill = tiny.fill(Gap("foo.", "", path="a.py"), options)
        assert re.match(r"ab|cd|\.", fill.text), fill.text
        names = re.findall(r"[\w)]\.(\w+)\W", re.sub(r"[\"'`#/](?s:.*)", "", fill.text))
        assert set(names) <= {"ab", "cd"}


@pytest.mark.parametrize(
    ("constraint", "named"),
    [
        ({"identifiers": []}, "1 to 5000"),
        ({"identifiers": ["a b"]}, "'a b' is none"),
        ({"identifiers": "abc"}, "1 to 5000"),
        ({"balanced": False}, "must be true"),
    ],
)
def test_errors(tiny: Engine, constraint: dict, named: str):
    with pytest.raises(EngineError, match=named):
        tiny.grammars(constraint)
