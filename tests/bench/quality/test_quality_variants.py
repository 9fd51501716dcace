"""Names of variants."""

import pytest

from bench.quality.variants import parse
from dlsp.errors import UserError


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("autoregressive", {"mode": "autoregressive"}),
        ("verified", {"mode": "verified"}),
        ("verified:merged", {"mode": "verified", "schedule": "merged"}),
        ("verified:auto:alone", {"mode": "verified", "schedule": "auto", "copy": False}),
        ("verified:steer:names", {"mode": "verified", "steer": "names"}),
        ("diffusion:0.7", {"mode": "diffusion", "rule": "threshold", "threshold": 0.7}),
        ("diffusion:0.7:known", {"mode": "diffusion", "rule": "threshold", "threshold": 0.7, "known": True}),
        ("diffusion:factor:2", {"mode": "diffusion", "rule": "factor", "threshold": 2.0}),
        ("diffusion:entropy:0.3", {"mode": "diffusion", "rule": "entropy", "threshold": 0.3}),
    ],
)
def test_a_variant_stands_for_options(variant, options):
    assert parse(variant) == options


@pytest.mark.parametrize(
    "variant",
    [
        "",
        "verify",
        "verified:other",
        "verified:steer:all",
        "diffusion",
        "diffusion:x",
        "diffusion:-1",
        "diffusion:nan",
        "autoregressive:1",
    ],
)
def test_any_other_name_is_refused_in_a_sentence(variant):
    with pytest.raises(UserError, match="is no variant: use"):
        parse(variant)
