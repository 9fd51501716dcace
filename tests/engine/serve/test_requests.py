import pytest

from dlsp_engine.errors import EngineError
from dlsp_engine.serve.requests import parse

GAP = {"prefix": "a", "suffix": "b"}


def test_defaults_and_fields():
    request = parse(
        {"gaps": [GAP | {"middle": "m", "session": "s"}], "end": "line", "stop": ["x"], "priority": "filling"}
    )
    assert request.asked[0].middle == "m"
    assert (request.options.mode, request.options.end, request.options.stop) == ("verified", "line", ("x",))
    assert request.priority == 1


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "object"),
        ({}, "gaps"),
        ({"gaps": []}, "gaps"),
        ({"gaps": [GAP] * 65}, "gaps"),
        ({"gaps": ["x"]}, "gaps"),
        ({"gaps": [{"prefix": "a"}]}, "suffix"),
        ({"gaps": [GAP | {"session": 3}]}, "session"),
        ({"gaps": [GAP | {"midle": "typed"}]}, "midle"),
        ({"gaps": [GAP], "end": "text"}, "'end'"),
        ({"gaps": [GAP], "n": 2}, "temperature"),
        ({"gaps": [GAP], "n": 2.0, "temperature": 1}, "'n'"),
        ({"gaps": [GAP], "n": 17, "temperature": 1}, "'n'"),
        ({"gaps": [GAP] * 9, "n": 8, "temperature": 1}, "'n'"),
        ({"gaps": [GAP], "n": 2, "temperature": 1, "seed": 2**53}, "seed"),
        ({"gaps": [GAP], "top_k": 1.5}, "top_k"),
        ({"gaps": [GAP], "top_p": 2}, "top_p"),
        ({"gaps": [GAP], "mode": "magic"}, "mode"),
        ({"gaps": [GAP], "mode": ["verified"]}, "mode"),
        ({"gaps": [GAP], "draft": -1}, "draft"),
        ({"gaps": [GAP], "draft": 2.5}, "draft"),
        ({"gaps": [GAP], "max_tokens": True}, "max_tokens"),
        ({"gaps": [GAP], "copy": 1}, "copy"),
        ({"gaps": [GAP], "temperature": "hot"}, "temperature"),
        ({"gaps": [GAP], "stop": ["a"] * 17}, "stop"),
        ({"gaps": [GAP], "stop": ["a" * 4097]}, "stop"),
        ({"gaps": [GAP], "stop": [""]}, "stop"),
        ({"gaps": [GAP], "files": [{"path": "a"}]}, "text"),
        ({"gaps": [GAP], "files": ["a"]}, "files"),
        ({"gaps": [GAP], "files": [{"path": "a", "text": "", "txt": ""}]}, "txt"),
        ({"gaps": [GAP], "colour": 1}, "colour"),
        ({"gaps": [GAP], "priority": "now"}, "priority"),
        ({"gaps": [{"prefix": "a" * 500_000, "suffix": ""}]}, "characters"),
        ({"gaps": [GAP | {"path": "a" * 500_000}]}, "characters"),
        ({"gaps": [GAP], "files": [{"path": "a" * 500_000, "text": ""}]}, "characters"),
    ],
)
def test_each_wrong_field_is_named_in_one_sentence(body, named: str):
    with pytest.raises(EngineError) as caught:
        parse(body)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
