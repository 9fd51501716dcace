"""The import by which the project's files have a name: from the files that import or define it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tree_sitter import Node

from dlsp.edits.fixes.unknown import Unknown
from dlsp.edits.search.page import Page
from dlsp.syntax.scopes.imports import SOURCE_ROOTS
from dlsp.syntax.scopes.table import text_of
from dlsp.syntax.source import encoded

# How many nodes above a name its import statement may begin.
MAX_CLIMB_NODES = 4
_DEFINED = re.compile(r"(?:^|\n)(?:async[ \t]+)?(?:def|class)[ \t]+\Z")


@dataclass(frozen=True)
class Import:
    """`from module import name as alias`; without a `name`, `import module as alias`."""

    module: str
    name: str = ""
    alias: str = ""

    @property
    def bound(self) -> str:
        """The name that it binds."""
        return self.alias or self.name or self.module.partition(".")[0]


@dataclass(frozen=True)
class _Known:
    """An import as a page has it or would be imported from, and its module from the root of the project."""

    page: Page
    written: Import
    parts: tuple[str, ...]
    is_definition: bool = False

    def same(self, other: "_Known") -> bool:
        """Whether both import the same. A package passes on names of its modules, and the folder that modules are named
        from may lie below the project's root."""
        one, two = sorted((self.parts, other.parts), key=len)
        is_named = (self.written.name, self.written.alias) == (other.written.name, other.written.alias)
        is_passed_on = bool(self.written.name) and two[: len(one)] == one
        return is_named and (is_passed_on or two[len(two) - len(one) :] == one)


def wanted(unknown: Unknown, own: Page, pages: Sequence[Page]) -> Import | None:
    """The import that the unknown name needs, as `own` would write it; None if the pages know none, or several.

    What nearer files import counts alone, and what is defined counts if nobody imports the name.
    """
    found: dict[tuple[bool, int], list[_Known]] = defaultdict(list)
    for page in pages:
        if page.language and page.language.name == "python":
            for known in _known(unknown, own, page):
                found[known.is_definition, -_shared(_folder(page.path), _folder(own.path))].append(known)
    if not found:
        return None
    nearest = found[min(found)]
    counts = Counter(each.parts for each in nearest)
    usual = max(nearest, key=lambda each: counts[each.parts])
    if not all(each.same(usual) for each in nearest):
        return None
    made = _as_written_in(own, usual)
    return made if made.module and made.bound == unknown.name else None


def _known(unknown: Unknown, own: Page, page: Page) -> Iterator[_Known]:
    """Yield what a page says of where a name comes from."""
    for offset, use in page.names.uses(unknown.name).items() if page.names else ():
        if use.binds is None:
            continue
        if use.module is not None:
            imported = _imported(page, offset, unknown.name)
            if imported and _is_whole(imported, own.text[unknown.offset :]):
                yield _Known(page, imported, _from_root(imported.module, page.path))
        elif page is not own and use.binds.kind == "module" and _is_for_others(unknown.name, page.text[:offset]):
            yield _Known(page, Import(_module(page.path), unknown.name), _parts(page.path), is_definition=True)


def _imported(page: Page, offset: int, name: str) -> Import | None:
    """The import that binds the name at this place; None if it cannot be written elsewhere."""
    tree = page.source.update(page.text) if page.source else None
    if page.source is None or tree is None:
        return None
    content, start = page.source.bytes, len(encoded(page.text[:offset]))
    part: Node | None = tree.root_node.descendant_for_byte_range(start, start + len(encoded(name)))
    for _ in range(MAX_CLIMB_NODES):
        around = part.parent if part else None
        if part is None or around is None:
            return None
        if around.type in ("import_statement", "import_from_statement"):
            named, alias = part.child_by_field_name("name") or part, part.child_by_field_name("alias")
            given = text_of(named, content), text_of(alias, content) if alias else ""
            given = (given[0], "") if given[0] == given[1] else given  # how a package passes a name on
            module = around.child_by_field_name("module_name")
            return Import(text_of(module, content), *given) if module else Import(given[0], alias=given[1])
        part = around
    return None


def _is_whole(imported: Import, used: str) -> bool:
    """Whether the import has all that is used: `import a.b` is for `a.b.c` alone."""
    is_dotted = not imported.name and not imported.alias and "." in imported.module
    return not is_dotted or re.match(rf"{re.escape(imported.module)}\b", used) is not None


def _is_for_others(name: str, before: str) -> bool:
    """Whether what a page defines is meant for other files: a function, a class or a constant without underscore."""
    return not name.startswith("_") and (name.isupper() or _DEFINED.search(before[-40:]) is not None)


def _as_written_in(own: Page, known: _Known) -> Import:
    """The import in the manner of a page: relative ones of its own package if it has such."""
    folder, parts, written = _folder(own.path), known.parts, known.written
    if parts == _parts(own.path):
        return replace(written, module="")
    is_relative = written.module.startswith(".")
    if written.name and folder and parts[:1] == folder[:1]:
        has_relative = re.search(r"^from \.", own.text, re.MULTILINE)
        has_absolute = re.search(rf"^(?:from|import) {re.escape(folder[0])}\b", own.text, re.MULTILINE)
        if has_relative or (is_relative and not has_absolute):
            shared = _shared(folder, parts)
            return replace(written, module="." * (1 + len(folder) - shared) + ".".join(parts[shared:]))
    return replace(written, module=".".join(parts)) if is_relative else written


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two sequences share, from the first on."""
    return next(
        (at for at, (each, its) in enumerate(zip(one, other, strict=False)) if each != its), min(len(one), len(other))
    )


def _folder(path: str) -> tuple[str, ...]:
    """The folders of a path, without one that only holds the sources."""
    folders = PurePosixPath(path).parent.parts
    return folders[1:] if folders[:1] and folders[0] in SOURCE_ROOTS else folders


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a file's module name."""
    stem = PurePosixPath(path).stem
    return _folder(path) if stem == "__init__" else (*_folder(path), stem)


def _module(path: str) -> str:
    return ".".join(_parts(path))


def _from_root(module: str, path: str) -> tuple[str, ...]:
    """The parts of a module's name, as written in a file, from the project's root."""
    dots = len(module) - len(module.lstrip("."))
    names = tuple(part for part in module.split(".") if part)
    folder = _folder(path)
    return (*folder[: len(folder) - dots + 1], *names) if dots else names
