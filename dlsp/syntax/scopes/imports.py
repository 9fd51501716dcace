"""Which module a name comes from, by the import statement that binds it. Nothing is run and no other file is read.

`named` reads the import statement around a name; `meets` says whether the module it names is the file of the edit.
"""

import posixpath
import re
from enum import Enum
from pathlib import PurePosixPath

from tree_sitter import Node

from dlsp.syntax.scopes.table import text_of

# How many parent nodes above a name are searched for its import statement.
MAX_CLIMB_NODES = 8
# Folders that are not part of a module's name.
SOURCE_ROOTS = ("", "src", "lib", "source", "python")
_JS_SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".d.ts")


class Meets(Enum):
    """Whether an import refers to a file."""

    YES = "it names the file"
    MAYBE = "it names a package or folder around the file, which may pass the name on"
    NO = "it names another module"


def named(leaf: Node, content: bytes) -> str | None:
    """The module that the import statement around a name of the document `content` takes it from, as written; None
    outside of imports.

    The module name itself, as NAME in `from NAME import x`, is not taken from a module: None.
    """
    child, node = leaf, leaf.parent
    rust: list[str] = []
    for _ in range(MAX_CLIMB_NODES):
        if node is None:
            return None
        kind = node.type
        if kind == "import_from_statement":
            module = node.child_by_field_name("module_name")
            return None if module is None or module == child else text_of(module, content)
        if kind == "import_statement" and (source := node.child_by_field_name("source")):
            return _unquoted(text_of(source, content))
        if kind == "import_statement":
            return text_of(child.child_by_field_name("name") or child, content)
        if kind == "export_statement" and (source := node.child_by_field_name("source")):
            return _unquoted(text_of(source, content))
        if kind == "variable_declarator":
            found = re.match(r"""(?:await\s+)?(?:require|import)\s*\(\s*(["'`])([^"'`]+)\1""", _value(node, content))
            return found[2] if found and node.child_by_field_name("value") != child else None
        if kind in ("scoped_use_list", "scoped_identifier", "use_as_clause"):
            path = node.child_by_field_name("path")
            if path is not None and path != child:
                rust.insert(0, text_of(path, content))
        if kind == "use_declaration":
            return "::".join(rust)
        if kind == "import_declaration":
            text = re.sub(r"^\s*import\s+(?:static\s+)?|;\s*$", "", text_of(node, content))
            return text.rpartition(".")[0]
        child, node = node, node.parent
    return None


def meets(module: str, path: str, family: str, own: str) -> Meets:
    """Whether `module`, as written in the file `path` of the language family, is the file `own`.

    Both paths are relative to the workspace, with `/`.
    """
    if family == "python":
        return _python(module, path, own)
    if family == "javascript":
        return _javascript(module, path, own)
    separator = "::" if family == "rust" else "."
    parts = [part for part in module.split(separator) if part not in ("crate", "self", "super", "*", "")]
    if not parts:
        return Meets.MAYBE if module else Meets.NO
    return _by_end(parts, _parts(own, ("mod", "lib", "main")), path, own)


def _python(module: str, path: str, own: str) -> Meets:
    dots = len(module) - len(module.lstrip("."))
    names = [part for part in module.lstrip(".").split(".") if part]
    target = _parts(own, ("__init__",))
    if not dots:
        return _by_end(names, target, path, own)
    folder = list(PurePosixPath(path).parent.parts)
    if dots - 1 > len(folder):
        return Meets.NO
    wanted = [*folder[: len(folder) - (dots - 1)], *names]
    if wanted == target:
        return Meets.YES
    return Meets.MAYBE if wanted == target[: len(wanted)] else Meets.NO


def _javascript(module: str, path: str, own: str) -> Meets:
    target = _without_suffix(own)
    places = {target, posixpath.dirname(target)} if posixpath.basename(target) == "index" else {target}
    if module.startswith("."):
        wanted = _without_suffix(posixpath.normpath(posixpath.join(posixpath.dirname(path), module)))
        if wanted in places:
            return Meets.YES
        return Meets.MAYBE if wanted == "." or target.startswith(f"{wanted}/") else Meets.NO
    # A path that a bundler or workspace resolves, such as "@/shop/cart"; a bare name is a package.
    parts = [part for part in _without_suffix(module).split("/") if not part.startswith(("@", "~"))]
    if "/" not in module or not parts:
        return Meets.NO
    is_end = any(place.split("/")[-len(parts) :] == parts for place in places)
    return Meets.MAYBE if is_end else Meets.NO


def _by_end(names: list[str], target: list[str], path: str, own: str) -> Meets:
    """Whether the parts of an absolute module name are the last parts of the file's path."""
    if names and target[-len(names) :] == names:
        root = "/".join(target[: -len(names)])
        beside = posixpath.dirname(own) == posixpath.dirname(path)
        return Meets.YES if len(names) > 1 or root in SOURCE_ROOTS or beside else Meets.MAYBE
    # The package that contains the file: `import httpx` for httpx/_utils.py.
    folders = target[:-1]
    is_around = any(folders[end - len(names) : end] == names for end in range(len(names), len(folders) + 1))
    return Meets.MAYBE if names and is_around else Meets.NO


def _parts(path: str, packages: tuple[str, ...]) -> list[str]:
    """The parts of a file's module name; a package's main file counts as its folder."""
    *folders, file = path.split("/")
    stem = file.split(".")[0]
    return folders if stem in packages and folders else [*folders, stem]


def _without_suffix(path: str) -> str:
    suffix = next((each for each in sorted(_JS_SUFFIXES, key=len, reverse=True) if path.endswith(each)), "")
    return path.removesuffix(suffix)


def _value(node: Node, content: bytes) -> str:
    value = node.child_by_field_name("value")
    return text_of(value, content) if value else ""


def _unquoted(text: str) -> str:
    return text.strip("\"'`")
