"""The arrows of the architecture: what may import what."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "dlsp"
# A package imports those of its own line and of lines below it, never one above. Packages of one line may import each
# other only as `IN_LINE` says.
LAYERS = (
    ("server", "cli", "api", "doctor", "team"),
    ("completions", "edits"),
    ("settings",),
    ("engine",),
    ("context",),
    ("index",),
    ("ignore", "models"),
    ("function",),
    ("syntax",),
)
IN_LINE = {
    ("cli", "server"),
    ("cli", "api"),
    ("cli", "doctor"),
    ("cli", "team"),
    ("team", "api"),
    ("doctor", "cli"),
    ("completions", "edits"),
}
# Modules beside the packages, which import nothing but each other.
BASE = {"dlsp", "dlsp.atomic", "dlsp.errors", "dlsp.logfile", "dlsp.paths", "dlsp.wording"}


def modules() -> dict[str, Path]:
    names = {}
    for file in ROOT.rglob("*.py"):
        parts = file.relative_to(ROOT.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return names


MODULES = modules()


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a module imports, wherever in it, but for what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        else:
            yield from imported(node)


IMPORTS = {name: set(imported(ast.parse(file.read_text()))) for name, file in MODULES.items()}
INTERNAL = {name: {each for each in found if each in MODULES} for name, found in IMPORTS.items()}


def package(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def layer(name: str) -> int | None:
    return next((number for number, line in enumerate(LAYERS) if name in line), None)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of a graph, [] without one."""
    done: set[str] = set()

    def walk(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return []
        for other in sorted(graph.get(node, ())):
            if found := walk(other, [*way, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node, []))), [])


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_modules_import_each_other_in_no_circle() -> None:
    without_packages = {name: {each for each in found if each != "dlsp"} for name, found in INTERNAL.items()}
    assert circle(without_packages) == []


def test_packages_depend_on_those_below_alone() -> None:
    wrong = []
    for module, found in INTERNAL.items():
        for other in found:
            here, there = package(module), package(other)
            upper, lower = layer(here), layer(there)
            if here == there or upper is None or lower is None:
                continue
            if lower < upper or (lower == upper and (here, there) not in IN_LINE):
                wrong.append(f"{module} -> {other}")
    assert sorted(wrong) == []


def test_what_lies_beside_the_packages_imports_none_of_them() -> None:
    wrong = [f"{name} -> {other}" for name in BASE for other in INTERNAL[name] if other not in BASE]
    assert wrong == []


def test_every_package_has_its_place() -> None:
    packages = {package(name) for name in MODULES if (ROOT / package(name)).is_dir()} - {""}
    assert packages == {name for line in LAYERS for name in line}


@pytest.mark.parametrize("library", ["pygls", "lsprotocol"])
def test_the_server_alone_knows_lsp(library: str) -> None:
    knows = {name for name, found in IMPORTS.items() if any(each.split(".")[0] == library for each in found)}
    assert [name for name in sorted(knows) if package(name) != "server"] == []


def test_the_composition_root_is_imported_by_the_transport_alone() -> None:
    importers = {name for name, found in INTERNAL.items() if "dlsp.server.app" in found}
    assert importers == {"dlsp.server.transport"}


def test_nothing_imports_torch() -> None:
    assert [name for name, found in IMPORTS.items() if any(each.split(".")[0] == "torch" for each in found)] == []
