"""What a name means at a place."""

from dlsp.edits.search.uses import uses
from dlsp.syntax import languages
from dlsp.syntax.source import Source

PYTHON = languages.LANGUAGES[0]


def where(text: str, name: str) -> list[tuple[str, str]]:
    """Of each place of a name its kind and the kind of the scope in which it is bound."""
    found = uses(Source(PYTHON), text, name)
    return [(use.kind, use.bound.kind if use.bound else "") for _, use in sorted(found.items())]


def test_a_name_is_bound_in_the_nearest_scope_that_binds_it() -> None:
    text = "import box\n\ndef pack(box):\n    return box\n\ndef other():\n    return box\n"
    module, function = ("name", "module"), ("name", "function")
    assert where(text, "box") == [module, function, function, module]


def test_a_loop_and_a_comprehension_have_names_of_their_own() -> None:
    text = "def f(xs):\n    for x in xs:\n        use(x)\n    return x, [x for x in xs]\n"
    loop, inner = ("name", "loop"), ("name", "function")
    assert where(text, "x") == [loop, loop, ("name", ""), inner, inner]


def test_defaults_and_types_are_looked_up_around_the_function() -> None:
    text = "size = 1\n\ndef f(size: size = size):\n    return size\n"
    module, function = ("name", "module"), ("name", "function")
    assert where(text, "size") == [module, function, module, module, function]


def test_methods_do_not_see_the_names_of_their_class() -> None:
    text = "class A:\n    size = 1\n    double = size\n\n    def f(self):\n        return size, self.size\n"
    of_class = ("name", "class")
    assert where(text, "size") == [of_class, of_class, ("name", ""), ("member", "")]


def test_keywords_and_paths_are_no_names() -> None:
    assert [kind for kind, _ in where("from a.box import c\n\nf(box=box)\n", "box")] == ["path", "keyword", "name"]


def test_offsets_count_characters() -> None:
    assert list(uses(Source(PYTHON), "# äöü\nbox = 'ß', box\n", "box")) == [6, 17]


def test_a_name_that_is_imported_as_another_is_bound_by_that() -> None:
    language = languages.of("app.js")
    assert language
    text = 'import { addItem as add } from "./cart";\nadd("tea");\n'
    uses_of = {name: uses(Source(language), text, name).values() for name in ("addItem", "add")}
    bound = {name: [use.bound is not None for use in found] for name, found in uses_of.items()}
    assert bound == {"addItem": [False], "add": [True, True]}
