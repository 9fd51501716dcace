"""The README's numbers: `python -m bench.report.readme` writes them between their markers, `--check` compares.

A block stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; its text comes from `bench.report.blocks`.
"""

import argparse
import re
import sys
from pathlib import Path

from bench.command import guarded
from bench.report.blocks import BLOCKS
from bench.report.blocks.words import Needed
from bench.report.load import Results, load
from dlsp.errors import UserError

README = Path(__file__).parents[2] / "README.md"
MACHINE = "epyc-2c"


def filled(readme: str, results: Results) -> str:
    """The README with every block as the results have it; UserError for a block that is not there or not known."""
    needed = Needed(results)
    marked = re.findall(r"<!-- bench:([\w-]+) -->", readme)
    if set(marked) != BLOCKS.keys() or len(marked) != len(BLOCKS):
        raise UserError(f"README.md must have one pair of markers for each of {', '.join(BLOCKS)}; it has {marked}.")
    for name, block in BLOCKS.items():
        pattern = re.compile(rf"(<!-- bench:{name} -->\n).*?(\n<!-- /bench:{name} -->)", re.DOTALL)
        text = block(needed)
        readme, found = pattern.subn(lambda match, text=text: match[1] + text + match[2], readme)
        if found != 1:
            raise UserError(f"README.md has no `<!-- /bench:{name} -->` after its beginning.")
    return readme


@guarded()
def main(arguments: list[str] | None = None) -> int:
    """0; 1 where `--check` finds a difference, 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.report.readme", description="The README's numbers.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where they differ")
    asked = parser.parse_args(arguments)
    now = README.read_text(encoding="utf-8")
    new = filled(now, load(machine=MACHINE))
    if asked.check and new != now:
        print("README.md differs from bench/results: run `python -m bench.report.readme`.", file=sys.stderr)
        return 1
    if not asked.check:
        README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
