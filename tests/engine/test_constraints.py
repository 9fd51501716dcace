"""Constrained answers: every mode keeps to the constraint, and verified decoding is autoregressive decoding."""

import json
import random
import re

import jsonschema
import pytest
from lark import Lark

from dlsp_engine.decode.draft import Drafter
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap

GAP = Gap("value = ", "\n")
ARITHMETIC = """
start: sum
sum: product (("+" | "-") product)*
product: atom (("*" | "/") atom)*
atom: NUMBER | "(" sum ")"
NUMBER: /[0-9]{1,3}/
"""
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
CONSTRAINTS = [
    {"regex": r"[a-z]{2,5} = \d{1,4}(, [a-z]+)*;"},
    {"regex": r"(é|日本)+x{3}"},
    {"grammar": ARITHMETIC},
    {"json_schema": PERSON},
    {"choices": ["red", "green", "great", 'a "quoted" \\ one\n', "日"]},
]


def accepts(constraint: dict, text: str) -> bool:
    """Whether a checker that shares nothing with the engine accepts the text."""
    ((kind, value),) = constraint.items()
    if kind == "regex":
        return re.fullmatch(value, text) is not None
    if kind == "choices":
        return text in value
    if kind == "grammar":
        try:
            Lark(value).parse(text)
        except Exception:
            return False
        return True
    try:
        jsonschema.validate(json.loads(text), value)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


@pytest.mark.parametrize("temperature", [0, 1.0])
@pytest.mark.parametrize("number", range(len(CONSTRAINTS)))
def test_verified_is_autoregressive(tiny: Engine, number: int, temperature: float):
    constraint = CONSTRAINTS[number]
    rng = random.Random(number)
    common = {"temperature": temperature, "seed": 3, "max_tokens": 40, "constraint": tiny.grammars(constraint)}
    expected = tiny.fill(GAP, Options(mode="autoregressive", **common))
    assert expected.reason in ("end", "length")
    assert expected.reason == "length" or accepts(constraint, expected.text)
    start = expected.cost.prompt_tokens

    def right(tokens: list[int]) -> list[int]:
        return list(expected.tokens[len(tokens) - start :][:5])

    def spoiled(tokens: list[int]) -> list[int]:
        return [token if rng.random() < 0.7 else rng.randrange(262) for token in right(tokens)]

    def sure(tokens: list[int]) -> tuple[list[int], list[float]]:
        return tokens, [0.8] * len(tokens)

    drafters: list[Drafter | None] = [
        None,
        lambda tokens: sure(right(tokens)),
        lambda tokens: sure(spoiled(tokens)),
        lambda tokens: sure([261] * 3),
    ]
    for drafter in drafters:
        for schedule in ("auto", "split", "merged"):
            fill = tiny.fill(GAP, Options(schedule=schedule, draft=3, copy=False, **common), drafter=drafter)
            assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason)
            assert [p for _, p in fill.confidence] == pytest.approx([p for _, p in expected.confidence], abs=1e-4)


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
def test_every_mode_keeps_to_the_constraint(tiny: Engine, mode: str):
    for constraint in CONSTRAINTS:
        grammar = tiny.grammars(constraint)
        ended = 0
        for seed in range(6):
            options = Options(mode=mode, temperature=1, seed=seed, max_tokens=60, constraint=grammar)
            fill = tiny.fill(GAP, options)
            if fill.reason == "end":
                assert accepts(constraint, fill.text), fill.text
                ended += 1
        assert ended or "grammar" in constraint or "json_schema" in constraint


@pytest.mark.parametrize("before", ["x = a", "é", "日本", "x"])
def test_what_is_healed_is_no_part_of_the_grammar(tiny: Engine, before: str):
    """Also where the last token before the cursor is a part of a character."""
    options = Options(mode="autoregressive", max_tokens=12, constraint=tiny.grammars({"regex": "[0-7]{4}"}))
    fill = tiny.fill(Gap(before, ""), options)
    assert re.fullmatch("[0-7]{4}", fill.text)
    assert fill.reason == "end"


def test_a_complete_answer_takes_no_further_step(tiny: Engine):
    options = Options(mode="autoregressive", constraint=tiny.grammars({"regex": "[0-7]{4}"}))
    assert tiny.fill(Gap("x = (", ""), options).cost.forwards == 4


def test_forced_text_is_drafted_at_once(tiny: Engine):
    options = Options(constraint=tiny.grammars({"choices": ["a longer text that nothing varies"]}))
    assert tiny.fill(Gap("x = (", ""), options).cost.forwards <= 3


def test_the_rules_for_gaps_do_not_end_a_constrained_answer(tiny: Engine):
    """An answer that repeats what stands behind the cursor, or leaves brackets open."""
    for text in ("foo)\nbar", "(((", "\n\n\n"):
        constraint = tiny.grammars({"choices": [text]})
        fill = tiny.fill(Gap("x = (", "foo)\nbar\n"), Options(constraint=constraint))
        assert (fill.text, fill.reason) == (text, "end")


@pytest.mark.parametrize("mode", ["autoregressive", "verified", "diffusion"])
@pytest.mark.parametrize("before", ["x = (", "x = a", "é"])
def test_an_answer_keeps_to_all_parts(tiny: Engine, before: str, mode: str):
    several = {
        "regex": "[a-z]+[0-9]",
        "choices": ["a1", "bcd2", "A3", "e"],
        "grammar": 'start: ("a" | "bcd" | "f") /./',
    }
    options = Options(mode=mode, constraint=tiny.grammars(several))
    fill = tiny.fill(Gap(before, ")"), options)
    assert fill.text in ("a1", "bcd2")
    assert fill.reason == "end"


@pytest.mark.parametrize("several", [{"regex": "ab", "choices": ["ac"]}, {"regex": "a", "choices": ["ab"]}])
def test_parts_that_contradict_each_other_are_an_error(tiny: Engine, several: dict):
    for mode in ("autoregressive", "verified", "diffusion"):
        with pytest.raises(EngineError, match="contradict"):
            tiny.fill(Gap("x = (", ""), Options(mode=mode, constraint=tiny.grammars(several)))


def test_control_tokens_in_a_grammar_end_no_answer(tiny: Engine):
    with pytest.raises(EngineError, match="line 1, column 8"):
        tiny.grammars({"grammar": 'start: "a" <[260]> "b"'})
    grammar = tiny.grammars({"grammar": 'start: "a" <[256]> "b"'})
    with pytest.raises(EngineError, match="allows nothing"):
        tiny.fill(Gap("", ""), Options(mode="autoregressive", constraint=grammar))


@pytest.mark.parametrize(
    ("constraint", "named"),
    [
        ({"regex": "ab(c"}, "'regex' in 'constraint' is not valid at character 3: unclosed group."),
        ({"regex": "a/b/("}, "at character 5"),
        ({"regex": "(?=a)b"}, "at character 1: look-around"),
        ({"regex": ""}, "not empty"),
        ({"regex": 3}, "text"),
        ({"grammar": "start: a\na: b"}, "'grammar' in 'constraint' is not valid at line 2, column 4: unknown name"),
        ({"grammar": 'start: "a\n'}, "line 1, column"),
        ({"grammar": "start: A\nA: /x(/"}, "line 2, column 4: unclosed group"),
        ({"grammar": "start: start"}, "accepts no text"),
        ({"json_schema": {"properties": {"a": {"anyOf": [{"type": "strin"}]}}}}, "at #/properties/a/anyOf/0: Invalid"),
        ({"json_schema": {"type": "string", "not": {"const": "a"}}}, 'at #: Unimplemented keys: ["not"]'),
        ({"json_schema": {"allOf": [{"type": "null"}, {"type": "string"}]}}, "Unsatisfiable"),
        ({"json_schema": "string"}, "must be an object"),
        ({"choices": []}, "1 to 1000"),
        ({"choices": ["a", 3]}, "number 1"),
        ({"regex": "a", "choices": [3]}, "'choices' in 'constraint' must hold texts"),
        ({}, "at least one of the fields regex, grammar, json_schema, choices"),
        ({"rexeg": "a"}, "one of the fields"),
        ("a", "one of the fields"),
        ({"regex": "a" * 200_000}, "100000 characters"),
    ],
)
def test_errors_name_the_place(tiny: Engine, constraint: object, named: str):
    with pytest.raises(EngineError) as error:
        tiny.grammars(constraint)
    assert named in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")
