"""JavaScript and TypeScript packages: archives from the npm registry, downloaded by `npm pack`."""

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from dlsp_engine.errors import EngineError

from .. import licences
from ..package import File, Languages, Package, language
from .archives import ahead, read

SOURCE = "npm"
_UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ECONNRESET")


def packages(names: Sequence[str], languages: Languages, folder: Path) -> Iterator[Package]:
    """Yield the newest archive of each package, in the order of the names. Raises EngineError if npm is missing."""
    if not shutil.which("npm"):
        raise EngineError("npm was not found: install Node.js, or leave out other languages with --other-mb 0.")

    def fetch(name: str) -> tuple[str, Path]:
        return name, _download(name, Path(mkdtemp(dir=folder)))

    for name, place in ahead(fetch, names):
        archive = next(place.glob("*.tgz"), None)
        yield _read(name, archive, languages) if archive else Package(SOURCE, name, problem="no archive")
        shutil.rmtree(place)


def _download(name: str, folder: Path) -> Path:
    command = ["npm", "pack", "--ignore-scripts", "--pack-destination", str(folder), name]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if result.returncode and any(code in result.stderr for code in _UNREACHABLE):
        raise EngineError("The npm registry does not answer: check the network and run this again.")
    return folder


def _read(name: str, archive: Path, languages: Languages) -> Package:
    description: dict[str, Any] = {}
    texts: list[str] = []
    sources: list[tuple[str, str, bytes]] = []
    try:
        for path, file in read(archive):
            if path == "package.json":
                description = json.load(file)
            elif path.lower().startswith(("licence", "license", "copying")):
                texts.append(file.read().decode("utf-8", "replace"))
            elif kind := language(path, languages):
                sources.append((path, kind, file.read()))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        return Package(SOURCE, name, problem=f"unreadable archive: {error}")
    licence = _licence(description, texts)
    files = [File(path, kind, licence, data) for path, kind, data in sources]
    return Package(SOURCE, name, str(description.get("version", "")), files)


def _licence(description: dict[str, Any], texts: Sequence[str]) -> str:
    """Return the licence expression of a package description. Older packages state an object, or a list of objects to
    choose from.
    """
    stated = description.get("license") or description.get("licenses") or ""
    choices = stated if isinstance(stated, list) else [stated]
    names = [choice.get("type", "") if isinstance(choice, dict) else str(choice) for choice in choices]
    expression = " OR ".join(filter(None, names))
    return licences.from_metadata("" if "SEE LICENSE" in expression.upper() else expression, (), "", texts)
