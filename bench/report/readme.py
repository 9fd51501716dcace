"""The numbers of README.md and docs/benchmarks.md: `python -m bench.report.readme` writes them between their markers,
and the plots beside them; `--check` compares the numbers.

A block stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`; its text comes from `bench.report.blocks`.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.command import guarded
from bench.report.blocks import BLOCKS
from bench.report.blocks.words import SMALL, Needed
from bench.report.load import Results, newest
from dlsp.completions.gate import calibration
from dlsp.errors import UserError

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
PICTURES = ROOT / "docs" / "pictures"
MACHINE = "epyc-2c"  # most results are of it; a block says what was measured on another one


def filled(pages: Sequence[str], results: Results) -> list[str]:
    """The pages with every block as the results have it; UserError for a block that is not there or not known."""
    marked = [name for page in pages for name in re.findall(r"<!-- bench:([\w-]+) -->", page)]
    if set(marked) != BLOCKS.keys() or len(marked) != len(BLOCKS):
        raise UserError(f"The pages must have one pair of markers for each of {', '.join(BLOCKS)}; they have {marked}.")

    def fill(page: str) -> str:
        for name in re.findall(r"<!-- bench:([\w-]+) -->", page):
            pattern = re.compile(rf"(<!-- bench:{name} -->\n).*?(<!-- /bench:{name} -->)", re.DOTALL)
            needed = Needed(results)
            text = BLOCKS[name](needed) + needed.elsewhere
            page, found = pattern.subn(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)
            if found != 1:
                raise UserError(f"There is no `<!-- /bench:{name} -->` after its beginning.")
        return page

    return [fill(page) for page in pages]


# The questions that the simulator was asked: how many typists on so many GPUs.
CAPACITY = {1: 200, 8: 2000}


def _plots(results: Results) -> None:
    """What a user waits for, beside llama.cpp; how far the gate's probabilities hold; what `reasoning_effort` buys; and
    how many typists a GPU serves.
    """
    from bench.report import plots

    needed = Needed(results)
    gate = json.loads(calibration.FILE.read_text(encoding="utf-8"))["reliability"]
    figures = {"peers": plots.peers(needed[f"peers-{SMALL}"]), "gate": plots.reliability(gate)}
    if (name := f"dial-{SMALL}") in needed:
        figures["dial"] = plots.dial(needed[name])
    for gpus, users in CAPACITY.items():
        names = {way: f"team-capacity-{gpus}-{way}" for way in ("verified", "autoregressive")}
        if all(name in needed for name in names.values()):
            figures[f"capacity-{gpus}"] = plots.capacity([(way, needed[name]) for way, name in names.items()], users)
    for name, figure in figures.items():
        figure.savefig(PICTURES / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})


@guarded()
def main(arguments: list[str] | None = None) -> int:
    """0; 1 where `--check` finds a difference, 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.report.readme", description="The numbers of the READMEs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where they differ")
    asked = parser.parse_args(arguments)
    now = [page.read_text(encoding="utf-8") for page in PAGES]
    new = filled(now, newest(MACHINE))
    if asked.check and new != now:
        print("The pages differ from bench/results: run `python -m bench.report.readme`.", file=sys.stderr)
        return 1
    if not asked.check:
        for page, text in zip(PAGES, new, strict=True):
            page.write_text(text, encoding="utf-8")
        _plots(newest(MACHINE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
