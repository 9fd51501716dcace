"""Documents that a grammar must not be given, whatever process would parse them.

tree-sitter-yaml 0.7.2 writes past the end of a buffer when the blocks of a document nest deeper than 253 levels: its
scanner keeps 10 bytes and 4 more for each level, and the buffer has 1,024. The depth of valid YAML could be told from
its indentation. That of broken YAML could not, as the scanner loses count of rows and columns there. But whatever the
text is, a level begins only at a marker: `-`, `?` or `:` before a blank, or the head of a block scalar. So a document
with fewer markers than levels that fit is safe, and longer ones are not parsed at all.
"""

import re
from itertools import islice

from dlsp.syntax.languages import Language

MOST_YAML_LEVELS = 240
_YAML_MARKER = re.compile(rb"(?:[-?:]|[|>][-+0-9]{0,2})(?=[\s\0]|\Z)")


def parsable(language: Language, content: bytes) -> bool:
    """Whether the document may be parsed: False for YAML that could nest too deep. Takes linear time."""
    if language.name != "yaml":
        return True
    levels = sum(1 for _ in islice(_YAML_MARKER.finditer(content), MOST_YAML_LEVELS + 1))
    return levels <= MOST_YAML_LEVELS


def incremental(language: Language) -> bool:
    """Whether a tree of an older text may be used: False for YAML, as the tree brings the levels of that text along."""
    return language.name != "yaml"
