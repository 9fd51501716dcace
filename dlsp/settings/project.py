"""Read the table `[tool.dlsp]` of a `pyproject.toml`, which may be malicious.

The standard library's parser takes half a minute for one key of 50,000 dots, and noticeable time for large files. So it
gets only the lines before the first table and those of `[tool]` and `[tool.dlsp]`, and only if no key has many parts.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from dlsp.ignore.reading import read

MAX_FILE_BYTES = 1_000_000
# The most bytes of the lines that are parsed.
MAX_TABLE_BYTES = 64_000
# The most dots in a key. Dots in strings are counted too, where so many in a row are unusual.
MAX_DOTS = 100

_TABLE = re.compile(r"""[ \t]*\[\[?[ \t]*["'\w][^\[\]\n,]*(?:\]\]?[ \t]*(?:#.*)?)?$""")
_OWN_TABLE = re.compile(r"""[ \t]*\[[ \t]*["']?tool["']?[ \t]*(?:\]|\.[ \t]*["']?dlsp["']?[ \t]*(?:[].]|$)|$)""")
_NO_KEY = re.compile(r"""[^\w\s."'-]""")


class Unusable(Exception):
    """Why the file cannot be used, as the end of a sentence about it."""


def tool_table(file: Path) -> Any:
    """The value of `tool.dlsp` in the file: a table if it is valid, None if there is none.

    Raises Unusable. Reads only a regular file that is in the folder of `file`.
    """
    try:
        content = read(file, MAX_FILE_BYTES, file.parent)
        lines = "\n".join(_own_lines(content.decode("utf-8")))
    except OSError as error:
        raise Unusable(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise Unusable("it is not UTF-8") from error
    if len(lines) > MAX_TABLE_BYTES:
        raise Unusable(f"it has more than {MAX_TABLE_BYTES // 1000} kB before its first table and in [tool.dlsp]")
    if any(part.count(".") > MAX_DOTS for line in lines.split("\n") for part in _NO_KEY.split(line)):
        raise Unusable(f"a key has more than {MAX_DOTS} parts")
    try:
        tool: Any = tomllib.loads(lines).get("tool")
    except (ValueError, RecursionError) as error:
        raise Unusable("it is not valid TOML") from error
    return cast("dict[str, Any]", tool).get("dlsp") if isinstance(tool, dict) else None


def _own_lines(text: str) -> Iterator[str]:
    own = True
    for line in text.replace("\r\n", "\n").split("\n"):
        if _TABLE.match(line):
            own = _OWN_TABLE.match(line) is not None
        if own:
            yield line
