"""The result of one check."""

import getpass
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from dlsp import paths


@dataclass(frozen=True)
class Check:
    """`said` is the finding, `todo` what to do if it is not `good`; `data` are the numbers behind it."""

    name: str
    good: bool
    said: str
    todo: str = ""
    data: dict[str, Any] = field(default_factory=dict[str, Any])

    def as_json(self) -> dict[str, Any]:
        """As JSON for a bug report, without user names."""
        return _anonymous(asdict(self))


def _anonymous(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _anonymous(each) for name, each in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_anonymous(each) for each in cast("list[Any] | tuple[Any, ...]", value)]
    if not isinstance(value, str):
        return value
    text = value
    if (home := paths.home()) and home != Path(home.anchor):
        text = text.replace(str(home), "~")
    with suppress(OSError, KeyError, ImportError):  # the user may have no name
        text = re.sub(rf"(?<=[\\/]){re.escape(getpass.getuser())}(?=[\\/]|$)", "USER", text)
    return text
