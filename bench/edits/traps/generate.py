"""All traps of a seed, in shares by language and by how their truth is known."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from bench.edits.traps import merged, resolved, sources
from bench.edits.traps.oracles import Pyright, TsServer
from bench.edits.traps.trap import Trap
from dlsp.syntax import languages

# How many traps come from single files in which two names were made one, by language; and from whole projects.
MERGED = {"python": 75, "c": 25, "cpp": 25, "rust": 20, "go": 20, "java": 20}
RESOLVED = {"python": 80, "typescript": 35, "javascript": 15}
# Languages of which no package is installed: their traps come from sample programs of this folder.
SAMPLED = ("rust", "go", "java")
# The most of a file.
PER_FILE = 4
# The file of another language beside those of a language.
FOREIGN = {
    "python": "shop.go",
    "c": "shop.rs",
    "cpp": "Shop.java",
    "rust": "shop.go",
    "go": "shop.rs",
    "java": "shop.go",
}


def traps(seed: int) -> Iterator[Trap]:
    """Yield the traps of a seed."""
    for language, number in MERGED.items():
        yield from of_single_files(language, number, seed)
    yield from of_python_projects(seed)
    yield from of_npm_projects(seed)


def of_single_files(language: str, number: int, seed: int) -> Iterator[Trap]:
    """Yield so many traps in one language, from names that were made one."""
    chance = random.Random(f"{seed} {language}")
    names = sources.NATIVE if language in ("c", "cpp") else sources.PYTHON_PROJECTS
    folders = [sources.SAMPLES] if language in SAMPLED else [sources.SITE / each for each in names]
    name = FOREIGN[language]
    foreign = name, (sources.SAMPLES / name).read_text()
    found: list[Trap] = []
    for path, text in sources.single(language, chance, folders):
        made = list(merged.traps(merged.File(path, text), chance, foreign))
        chance.shuffle(made)
        found += made if language in SAMPLED else made[:PER_FILE]
        if len(found) >= number:
            break
    yield from found[:number]


def of_python_projects(seed: int) -> Iterator[Trap]:
    """Yield traps in installed packages, whose truth Pyright knows."""
    each = RESOLVED["python"] // len(sources.PYTHON_PROJECTS) + 1
    left = RESOLVED["python"]
    for name in sources.PYTHON_PROJECTS:
        files, omitted = sources.project(sources.SITE / name, (".py",), name)
        with tempfile.TemporaryDirectory() as folder:
            sources.write(Path(folder), files)
            with closing(Pyright(Path(folder), files)) as oracle:
                chance = random.Random(f"{seed} {name}")
                for trap in resolved.traps(files, omitted, oracle, chance, min(each, left)):
                    left -= 1
                    yield trap


def of_npm_projects(seed: int) -> Iterator[Trap]:
    """Yield traps in npm packages, whose truth tsserver knows."""
    modules = sources.npm()
    for (name, (_, inner)), language in zip(sources.NPM_PROJECTS.items(), ("typescript", "javascript"), strict=True):
        suffixes = tuple(languages.of("a.ts" if language == "typescript" else "a.js").extensions)  # type: ignore[union-attr]
        files, omitted = sources.project(modules / name / inner, suffixes, inner)
        with tempfile.TemporaryDirectory() as folder:
            sources.write(Path(folder), files)
            settings = '{"compilerOptions": {"allowJs": true, "module": "nodenext"}}'
            (Path(folder) / "tsconfig.json").write_text(settings)
            with closing(TsServer(Path(folder), files, modules / "typescript")) as oracle:
                chance = random.Random(f"{seed} {name}")
                yield from islice(
                    resolved.traps(files, omitted, oracle, chance, RESOLVED[language]), RESOLVED[language]
                )
