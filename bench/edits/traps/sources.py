"""Where the code of traps comes from: packages that are installed here under permissive licences, and npm packages."""

import random
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from bench.edits.traps.merged import usable
from dlsp import paths
from dlsp.errors import UserError
from dlsp.syntax import languages

SITE = Path(sysconfig.get_paths()["purelib"])
SAMPLES = Path(__file__).parent / "samples"
# Projects for traps of several files: folders of installed Python packages.
PYTHON_PROJECTS = ("httpx", "click", "markdown_it", "requests", "starlette", "cattrs", "jinja2", "uvicorn", "anyio")
NPM_PROJECTS = {"rxjs": ("rxjs@7.8.1", "src"), "express": ("express@4.19.2", "lib")}
TYPESCRIPT = "typescript@5.9.3"
# Folders of installed packages with other languages.
NATIVE = ("greenlet", "markupsafe", "numpy/_core/include", "numpy/random", "torch/include/c10", "triton/backends")
MAX_PROJECT_FILES = 80


def project(folder: Path, suffixes: tuple[str, ...], parent: str) -> tuple[dict[str, str], list[str]]:
    """The texts of a folder's files below the name `parent`: ASCII, with single line ends; and the texts left out."""
    found: dict[str, str] = {}
    omitted: list[str] = []
    for file in sorted(folder.rglob("*")):
        if file.suffix in suffixes and len(found) < MAX_PROJECT_FILES and not file.name.endswith(".d.ts"):
            text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
            if text.isascii() and len(text) < 100_000:
                found[f"{parent}/{file.relative_to(folder).as_posix()}"] = text
            else:
                omitted.append(text)
    return found, omitted


def npm() -> Path:
    """The folder of the npm packages, which are fetched once into the cache. Raises UserError."""
    place = paths.cache_dir() / "traps" / "npm"
    wanted = [TYPESCRIPT, *(package for package, _ in NPM_PROJECTS.values())]
    if not all((place / "node_modules" / each.rpartition("@")[0]).is_dir() for each in wanted):
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}\n')
        _run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *wanted], place)
    return place / "node_modules"


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"`{' '.join(command)}` failed ({error}): these traps need its packages.") from error


def single(language: str, chance: random.Random, folders: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield single files of a language in the folders, as name and text, in an order of chance."""
    found = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    chance.shuffle(found)
    for file in found:
        known = languages.of(file)
        if known is None or known.name != language:
            continue
        text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        if usable(text, known) and not re.search(r"generated|DO NOT EDIT", text[:2_000]):
            yield file.name, text


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files, given as texts by path, below a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
