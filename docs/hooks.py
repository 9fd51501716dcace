"""Pages whose text comes from the code: mkdocs calls `on_page_markdown` for each page."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

# argparse wraps its help at the terminal's width.
os.environ["COLUMNS"] = "100"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with `<!-- commands -->` replaced by the help of every command, `<!-- settings -->` by their table."""
    if "<!-- commands -->" in markdown:
        from dlsp.cli import parser

        markdown = markdown.replace("<!-- commands -->", "\n".join(_commands(parser())))
    if "<!-- settings -->" in markdown:
        from dlsp.settings.schema import json_schema

        markdown = markdown.replace("<!-- settings -->", "\n".join(_settings(json_schema()["properties"])))
    return markdown


def _commands(parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    """A heading and the help of each sub-command, those below it after it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name in action.choices:
                command = action.choices[name]
                yield f"{'#' * level} {command.prog}\n\n```text\n{command.format_help().rstrip()}\n```\n"
                if name != "train":  # its parts are on the page about training
                    yield from _commands(command, level + 1)


def _settings(properties: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table with a row for each setting."""
    yield "| setting | values | default | meaning |"
    yield "|---|---|---|---|"
    for name, schema in properties.items():
        default = f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
        yield f"| `{name}` | {_values(schema)} | {default} | {schema['description']} |"


def _values(schema: Mapping[str, Any]) -> str:
    """The values that a setting takes, in words."""
    if "anyOf" in schema:
        return ", or ".join(_values(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kinds = {"array": "a list of texts", "object": "a table", "boolean": "`true`, `false`", "string": "a name"}
    kind = kinds.get(schema["type"], "a number")
    bounds = f" from {schema['minimum']} to {schema['maximum']}" if "maximum" in schema else ""
    return kind + bounds
