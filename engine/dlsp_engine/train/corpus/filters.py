"""Decides which files are worth training on, one file at a time."""

import ast
import re
import warnings
from pathlib import PurePosixPath

from .package import File
from .words import code

_SMALLEST, _LARGEST = 200, 200_000
_LONGEST_LINE = 1_000
_LETTERS = 0.5
_LITERALS = 0.6

_VENDORED = re.compile(
    r"(^|/)(_?vendor(ed|s)?|third[_-]?party|3rd[_-]?party|externals?|extern|extlibs?|node_modules|bower_components"
    r"|_?bundled|site-packages|deps|subprojects)(/|$)",
    re.IGNORECASE,
)
_DATA_PATH = re.compile(
    r"(^|/)(test[_-]?data|(__)?(fixtures?|snapshots?)(__)?|fixedbugs|baselines?|goldens?|locales?|i18n)(/|$)",
    re.IGNORECASE,
)
_GENERATED_PATH = re.compile(
    r"(_pb2(_grpc)?\.pyi?|\.pb(\.gw)?\.go|_generated\.\w+|\.generated\.\w+|[.-]min\.js|\.d\.[cm]?ts|bundle\.js"
    r"|(^|/)(zz_generated\.\w+|parsetab|lextab|_?version|_version_info|versioneer)\.\w+)$",
    re.IGNORECASE,
)
_BUILT = re.compile(r"(^|/)[_.]?(dists?|build|umd|bundles?|cjs|esm?\d*|commonjs|min|out|generated)(/|$)")
_GENERATED = re.compile(
    r"do not (edit|modify)|@generated|auto[ -]?generated|code generated|machine[ -]generated"
    r"|generated (by|from|with|using|automatically)|automatically generated|created by the .{0,40}compiler",
    re.IGNORECASE,
)
_COMPILED = re.compile(r"__esModule|sourceMappingURL|__webpack_require__|__awaiter|_interopRequire|__toESM")
_HEAD = 1_500
# Evaluation sets of code by name, however it is written ("HumanEval", "human_eval", "can-it-edit").
_BENCHMARK = re.compile(
    r"(?<![a-z])(human[-_ ]?eval|mbpp|mbxp|safim|santacoder|can[-_ ]?it[-_ ]?edit)(?!uat)", re.IGNORECASE
)
_NO_LETTER = re.compile(r"[^a-zA-Z]+")
_LITERAL_LINE = re.compile(
    r"""[\s\[\](){},:;]*+(?:(?:[rbu]?"[^"]*"|[rbu]?'[^']*'|[-+]?\d[\w.]*+)[\s\[\](){},:;]*+)++"""
)


def clean(file: File) -> tuple[str, str]:
    """Return a file's text with plain line breaks, and why it is dropped, empty if it is kept."""
    if not _SMALLEST <= len(file.data) <= _LARGEST:
        return "", "size"
    if _VENDORED.search(file.path):
        return "", "vendored"
    if _DATA_PATH.search(file.path):
        return "", "data"
    if _BENCHMARK.search(file.path):
        return "", "benchmark"
    scripted = file.language in ("javascript", "typescript")
    if _GENERATED_PATH.search(file.path) or (scripted and _BUILT.search(str(PurePosixPath(file.path).parent))):
        return "", "generated"
    try:
        text = file.data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return "", "encoding"
    return text, _reason(text, file.language, scripted)


def _reason(text: str, language: str, scripted: bool) -> str:
    if "\0" in text:
        return "encoding"
    if _BENCHMARK.search(text):
        return "benchmark"
    if _GENERATED.search(text[:_HEAD]) or (scripted and _COMPILED.search(text)):
        return "generated"
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if max(map(len, lines), default=0) > _LONGEST_LINE:
        return "long lines"
    if len(code(text).strip()) < _SMALLEST:
        return "size"
    if len(_NO_LETTER.sub("", text)) < _LETTERS * len("".join(lines).replace(" ", "")):
        return "low alphabetic"
    if sum(bool(_LITERAL_LINE.fullmatch(line)) for line in lines) > _LITERALS * len(lines):
        return "data"
    if language == "python" and not _parses(text):
        return "syntax"
    return ""


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
