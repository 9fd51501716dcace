"""The command: `python -m bench.report`."""

import argparse
import sys
from pathlib import Path

from bench import results
from bench.command import MEND, guarded
from bench.report.load import load
from bench.report.sections import growth, others, peers, published, quality, steps

OUT = Path(__file__).parents[2] / "build" / "report"


@guarded()
def main(arguments: list[str] | None = None) -> int:
    """0, or 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.report", description=sys.modules["bench.report"].__doc__)
    parser.add_argument("--results", type=Path, default=results.FOLDER, help="the folder of the results files")
    parser.add_argument("--machine", help="whose results; else this machine's")
    parser.add_argument("--out", type=Path, default=OUT, help="where the pages are written; else build/report")
    asked = parser.parse_args(arguments)
    try:
        from bench.report import render  # matplotlib, which comes with the bench's own packages

        measured = load(asked.results, asked.machine)
        made = [part.section(measured) for part in (peers, growth, quality, steps)]
        sections = [section for section in made if section] + others.sections(measured) + [published.section()]
        files = render.write(measured, sections, asked.out)
    except ImportError as error:
        print(f"The report needs {error.name}: run `pip install -e '.[bench]'`.", file=sys.stderr)
        return MEND
    except OSError as error:
        print(f"The report cannot be written to {asked.out} ({error.strerror}): use --out.", file=sys.stderr)
        return MEND
    print(f"Written to {files[0]} and {files[1]}, with {len(files) - 2} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
