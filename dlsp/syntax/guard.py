"""Documents that no process may give to a grammar, because it could corrupt memory.

tree-sitter-yaml 0.7.2 writes past the end of a buffer when blocks nest deeper than 253 levels: its scanner stores 10
bytes and 4 more per level in a buffer of 1,024. The depth of valid YAML follows from its indentation, but that of
broken YAML does not, because the scanner loses count of rows and columns. In any text, however, a level begins only at
a marker: `-`, `?` or `:` before a blank, or the header of a block scalar. So a document with fewer markers than the
possible levels is safe, and others are not parsed.
"""

import re
from itertools import islice

from dlsp.syntax.languages import Language

MAX_YAML_LEVELS = 240
_YAML_MARKER = re.compile(rb"(?:[-?:]|[|>][-+0-9]{0,2})(?=[\s\0]|\Z)")


def parsable(language: Language, content: bytes) -> bool:
    """Whether the document may be parsed: False for YAML that may nest too deep. Takes linear time."""
    if language.name != "yaml":
        return True
    levels = sum(1 for _ in islice(_YAML_MARKER.finditer(content), MAX_YAML_LEVELS + 1))
    return levels <= MAX_YAML_LEVELS


def incremental(language: Language) -> bool:
    """Whether an older tree may be reused: False for YAML, because the tree carries the levels of the older text."""
    return language.name != "yaml"
