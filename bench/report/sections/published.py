"""What others published. Nothing in it was measured here, and it says so."""

import tomllib
from pathlib import Path

from bench.report.page import Section, Table

FILE = Path(__file__).parents[1] / "published.toml"
TEXT = """**Published by others, not measured here**: other hardware, other tasks, other prompts. They stand here for
orientation and are comparable with nothing above."""


def section() -> Section:
    figures = tomllib.loads(FILE.read_text(encoding="utf-8"))["figure"]
    rows = [
        [one["system"], one["says"], one["hardware"], f"[{_host(one['source'])}]({one['source']})", one["read"]]
        for one in figures
    ]
    heading = ["system", "published", "hardware", "source", "read in"]
    return Section("published", "Published by others", TEXT, [Table(heading, rows, "published figures, see each row")])


def _host(address: str) -> str:
    return address.split("/")[2].removeprefix("www.")
