"""What is published agrees with what stands here: the lock files, the adapters' packages, the version."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dlsp import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
PINNED = re.compile(r"^([a-zA-Z0-9._-]+)==(\S+)(?: ; (.*?))? \\$", re.MULTILINE)


def wanted(extra: str | None) -> list[Requirement]:
    """The direct requirements of dlsp with an extra, those of the extras that it names included."""
    found = [*PROJECT["project"]["dependencies"], *(EXTRAS[extra] if extra else [])]
    direct = []
    for requirement in map(Requirement, found):
        if requirement.name == "dlsp":
            direct += [each for name in requirement.extras for each in wanted(name)]
        else:
            direct.append(requirement)
    return direct


@pytest.mark.parametrize(
    ("file", "extra"), [("light", None), ("engine", "engine"), ("local", "engine"), ("dev", "dev")]
)
def test_a_lock_has_each_direct_requirement_in_its_range(file: str, extra: str | None) -> None:
    """`make lock` writes them anew."""
    locked: dict[str, list[str]] = {}
    for name, version, _ in PINNED.findall((ROOT / f"requirements/{file}.txt").read_text()):
        locked.setdefault(canonicalize_name(name), []).append(version)
    torch = (ROOT / "requirements/torch.txt").read_text().strip().partition("==")[2]
    assert locked.setdefault("torch", [torch]) == [torch]
    for requirement in wanted(extra):
        versions = locked.get(canonicalize_name(requirement.name))
        assert versions, f"{requirement.name} is not in requirements/{file}.txt"
        assert all(requirement.specifier.contains(version) for version in versions), (str(requirement), versions)


@pytest.mark.parametrize("file", ["light", "engine", "local", "dev"])
def test_each_pinned_package_has_hashes(file: str) -> None:
    text = (ROOT / f"requirements/{file}.txt").read_text()
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert len(blocks) == len(PINNED.findall(text)) > 30
    assert all("--hash=sha256:" in block for block in blocks)


def test_each_action_of_a_workflow_is_a_commit() -> None:
    """A tag may be moved by whoever owns the action."""
    uses = [
        line.partition("uses:")[2].strip()
        for file in (ROOT / ".github/workflows").glob("*.yml")
        for line in file.read_text().splitlines()
        if "uses:" in line
    ]
    assert len(uses) > 20
    assert [each for each in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[0-9.]+", each)] == []


def test_the_sbom_lists_each_locked_package_with_its_hashes(tmp_path: Path) -> None:
    """As `make sbom` writes it."""
    lock, file = ROOT / "requirements/local.txt", tmp_path / "sbom.json"
    command = ["cyclonedx_py", "requirements", "--pyproject", ROOT / "pyproject.toml", "-o", file, lock]
    subprocess.run([sys.executable, "-W", "ignore", "-m", *command], check=True)
    listed = json.loads(file.read_text())
    assert listed["metadata"]["component"]["name"] == "dlsp"
    assert {(each["name"], each["version"]) for each in listed["components"]} == {
        (name, version) for name, version, _ in PINNED.findall(lock.read_text())
    }
    assert all(each["externalReferences"][0]["hashes"] for each in listed["components"])


def test_the_light_install_has_nothing_of_the_engine() -> None:
    names = {canonicalize_name(name) for name, _, _ in PINNED.findall((ROOT / "requirements/light.txt").read_text())}
    engine = {canonicalize_name(Requirement(each).name) for each in EXTRAS["engine"]}
    assert not names & (engine | {"transformers", "triton"})
    local = {canonicalize_name(name) for name, _, _ in PINNED.findall((ROOT / "requirements/engine.txt").read_text())}
    assert not local & {"transformers", "triton"}


def test_each_adapter_is_in_one_package_and_the_local_install_brings_it() -> None:
    packaged, names = [], set()
    for file in (ROOT / "packages").glob("*/pyproject.toml"):
        package = tomllib.loads(file.read_text())
        names.add(package["project"]["name"])
        for source, target in package["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items():
            assert (file.parent / source).resolve() == ROOT / "engine" / target
            packaged.append(ROOT / "engine" / target)
    assert sorted(packaged) == sorted((ROOT / "engine").rglob("*.safetensors"))
    assert names == {Requirement(each).name for each in EXTRAS["local"]} - {"dlsp"}


@pytest.mark.parametrize("file", ["package.json", "package-lock.json"])
def test_the_extension_has_the_version(file: str) -> None:
    """`make version` writes it."""
    assert json.loads((ROOT / "editors/vscode" / file).read_text())["version"] == __version__
