"""The languages that are parsed, and the node types of their grammars."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePath

import tree_sitter


def _types(names: str) -> frozenset[str]:
    return frozenset(names.split())


@dataclass(frozen=True)
class Language:
    """The node types of one grammar. `family` groups languages whose files use each other.

    `elision` is the text that replaces an omitted body, `comment` what begins a comment that ends with its line, "" if
    there is no such comment.
    """

    name: str
    family: str
    extensions: tuple[str, ...]
    functions: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    elision: str = " { ... }"
    comment: str = "//"
    package: str = ""
    entry: str = "language"

    @property
    def has_definitions(self) -> bool:
        return bool(self.functions)

    def grammar(self) -> tree_sitter.Language:
        return _grammar(self.package or f"tree_sitter_{self.name}", self.entry)

    def parser(self) -> tree_sitter.Parser:
        return tree_sitter.Parser(self.grammar())


_JS_FUNCTIONS = "function_declaration generator_function_declaration method_definition"
_TS_FUNCTIONS = f"{_JS_FUNCTIONS} function_signature method_signature abstract_method_signature"
_TS_CLASSES = (
    "class_declaration abstract_class_declaration interface_declaration enum_declaration type_alias_declaration "
    "internal_module"
)
_JAVA_CLASSES = "class_declaration interface_declaration enum_declaration record_declaration"
_CS_CLASSES = f"{_JAVA_CLASSES} struct_declaration namespace_declaration"
_C_CLASSES = "struct_specifier enum_specifier union_specifier type_definition"
_RUST_CLASSES = "struct_item enum_item trait_item impl_item mod_item type_item union_item macro_definition"

LANGUAGES = (
    Language(
        "python",
        "python",
        (".py", ".pyi"),
        functions=_types("function_definition"),
        classes=_types("class_definition"),
        constants=_types("assignment type_alias_statement"),
        imports=_types("import_statement import_from_statement future_import_statement"),
        elision=" ...",
        comment="#",
    ),
    Language(
        "javascript",
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        functions=_types(_JS_FUNCTIONS),
        classes=_types("class_declaration"),
        constants=_types("variable_declarator"),
        imports=_types("import_statement"),
    ),
    Language(
        "typescript",
        "javascript",
        (".ts", ".mts", ".cts"),
        functions=_types(_TS_FUNCTIONS),
        classes=_types(_TS_CLASSES),
        constants=_types("variable_declarator"),
        imports=_types("import_statement"),
        package="tree_sitter_typescript",
        entry="language_typescript",
    ),
    Language(
        "tsx",
        "javascript",
        (".tsx",),
        functions=_types(_TS_FUNCTIONS),
        classes=_types(_TS_CLASSES),
        constants=_types("variable_declarator"),
        imports=_types("import_statement"),
        package="tree_sitter_typescript",
        entry="language_tsx",
    ),
    Language(
        "go",
        "go",
        (".go",),
        functions=_types("function_declaration method_declaration"),
        classes=_types("type_declaration"),
        constants=_types("const_spec var_spec"),
        imports=_types("import_declaration package_clause"),
    ),
    Language(
        "rust",
        "rust",
        (".rs",),
        functions=_types("function_item function_signature_item"),
        classes=_types(_RUST_CLASSES),
        constants=_types("const_item static_item"),
        imports=_types("use_declaration extern_crate_declaration"),
    ),
    Language(
        "java",
        "java",
        (".java",),
        functions=_types("method_declaration constructor_declaration"),
        classes=_types(_JAVA_CLASSES),
        constants=_types("field_declaration"),
        imports=_types("import_declaration package_declaration"),
    ),
    Language(
        "c",
        "c",
        (".c", ".h"),
        functions=_types("function_definition declaration"),
        classes=_types(_C_CLASSES),
        constants=_types("preproc_def preproc_function_def"),
        imports=_types("preproc_include"),
    ),
    Language(
        "cpp",
        "c",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
        functions=_types("function_definition declaration"),
        classes=_types(f"{_C_CLASSES} class_specifier namespace_definition alias_declaration"),
        constants=_types("preproc_def preproc_function_def field_declaration"),
        imports=_types("preproc_include using_declaration"),
    ),
    Language(
        "c_sharp",
        "c_sharp",
        (".cs",),
        functions=_types("method_declaration constructor_declaration"),
        classes=_types(_CS_CLASSES),
        constants=_types("field_declaration property_declaration"),
        imports=_types("using_directive"),
    ),
    Language(
        "ruby",
        "ruby",
        (".rb",),
        functions=_types("method singleton_method"),
        classes=_types("class module"),
        constants=_types("assignment"),
        elision="\nend",
        comment="#",
    ),
    Language(
        "lua",
        "lua",
        (".lua",),
        functions=_types("function_declaration"),
        constants=_types("assignment_statement"),
        elision=" ... end",
        comment="--",
    ),
    Language(
        "bash",
        "bash",
        (".sh", ".bash"),
        functions=_types("function_definition"),
        constants=_types("variable_assignment"),
        comment="#",
    ),
    Language("json", "json", (".json",), comment=""),
    Language("yaml", "yaml", (".yaml", ".yml"), comment="#"),
    Language("toml", "toml", (".toml",), comment="#"),
    Language("html", "html", (".html", ".htm"), comment=""),
    Language("css", "css", (".css",), comment=""),
    Language("markdown", "markdown", (".md", ".markdown"), comment=""),
)
_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}
_BY_NAME = {language.name: language for language in LANGUAGES}
# LSP language ids that differ from the grammar's name.
_EDITORS_NAMES = {
    "csharp": "c_sharp",
    "cs": "c_sharp",
    "javascriptreact": "javascript",
    "jsonc": "json",
    "objective-cpp": "cpp",
    "sh": "bash",
    "shellscript": "bash",
    "typescriptreact": "tsx",
    "zsh": "bash",
}


def of(path: str | PurePath) -> Language | None:
    """The language of a file, by its name; None for plain text."""
    return _BY_EXTENSION.get(PurePath(path).suffix.lower())


def for_document(language_id: str, path: str | PurePath) -> Language | None:
    """The language of an open document, by the editor's language id, else by its name; None for plain text."""
    name = language_id.lower()
    return _BY_NAME.get(_EDITORS_NAMES.get(name, name)) or of(path)


@cache
def _grammar(package: str, entry: str) -> tree_sitter.Language:
    grammar: object = getattr(import_module(package), entry)()
    return tree_sitter.Language(grammar)
