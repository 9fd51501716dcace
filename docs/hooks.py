"""Pages whose text comes from the code: mkdocs calls `on_page_markdown` for each page."""

import argparse
import os
from collections.abc import Iterator
from typing import Any

# argparse wraps its help at the terminal's width.
os.environ["COLUMNS"] = "100"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with `<!-- commands -->` replaced by the help of every command."""
    if "<!-- commands -->" not in markdown:
        return markdown
    from dlsp.cli import parser

    return markdown.replace("<!-- commands -->", "\n".join(_commands(parser())))


def _commands(parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    """A heading and the help of each sub-command, those below it after it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in action.choices:
                command = action.choices[name]
                yield f"{'#' * level} {command.prog}\n\n```text\n{command.format_help().rstrip()}\n```\n"
                if name != "train":  # its parts are on the page about training
                    yield from _commands(command, level + 1)
