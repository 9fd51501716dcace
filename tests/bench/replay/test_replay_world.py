"""What the name of a contender sets."""

import pytest

from bench.replay.world import settings
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from dlsp.settings.schema import settings as made


def test_the_server_takes_what_the_name_sets():
    asked = settings("dlsp:mode=diffusion:context=700", DEFAULT)
    known, complaints = made([asked])
    assert (known.model, known.mode, known.context, complaints) == (DEFAULT, "diffusion", 700, [])


def test_sources_of_context_are_no_settings_of_the_user():
    assert settings("dlsp:without=siblings+recent", DEFAULT)["without"] == "siblings+recent"
    assert settings("dlsp:without=none", DEFAULT)["without"] == "none"
    with pytest.raises(UserError, match="sources of context are siblings, "):
        settings("dlsp:without=siblings+moon", DEFAULT)


def test_the_gate_can_be_opened_and_no_more():
    assert settings("dlsp:suggest=eager:gate=open", DEFAULT)["gate"] == "open"
    with pytest.raises(UserError, match="gate can only be open"):
        settings("dlsp:gate=half", DEFAULT)


@pytest.mark.parametrize("name", ["tabby", "dlsp:context", "dlsp:context="])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(UserError, match="is no contender"):
        settings(name, DEFAULT)
