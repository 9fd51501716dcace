"""Where evaluation data lies: below DLSP_EVAL_DIR, never in the repository."""

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

from dlsp.errors import UserError

# Where the edits of `edits` and `replay` come from.
EDITS = "the edits mined for this project, not published (bench/edits/rows.py says what a row holds)"


class Missing(UserError):
    """The evaluation data is not there, or damaged; the message says what to do."""


def evaluation(file: str, source: str) -> Path:
    """The path of a file of evaluation data. Raises Missing, which names its `source`, where it is not there."""
    root = os.environ.get("DLSP_EVAL_DIR")
    if not root:
        raise Missing(f"Set DLSP_EVAL_DIR to a folder that has {file}, from {source}.")
    path = Path(root) / file
    if not path.is_file():
        raise Missing(f"{path} is missing: get it from {source}, or set DLSP_EVAL_DIR to where it is.")
    return path


def rows(file: str, source: str) -> list[dict[str, Any]]:
    """The rows of a file of evaluation data (*.jsonl.gz). Raises Missing where it is not there or cannot be read."""
    path = evaluation(file, source)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise Missing(f"{path} is damaged ({error}): get it again from {source}.") from error
