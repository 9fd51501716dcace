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


@pytest.mark.parametrize("name", ["tabby", "dlsp:context", "dlsp:context="])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(UserError, match="is no contender"):
        settings(name, DEFAULT)
