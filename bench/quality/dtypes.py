"""How far a dtype's answers are those of another: `python -m bench.quality.dtypes --reference float32 --limit 150`.

Reads what `python -m bench.quality --set single-line --dtype DTYPE --variants autoregressive --limit 150` wrote for
the reference and the others, and compares gap by gap. `int8-avx2` is int8 as a processor with AVX2 alone computes it:
run with ATEN_CPU_CAPABILITY=avx2 set, `--fresh`, and `--out` naming the file so.
"""

import argparse
import json
import sys

from bench import results
from bench.command import MEND, at_least, guarded, line, written
from bench.quality.sets import problem
from dlsp.models import catalogue
from dlsp_engine.train.bootstrap import interval

MEASURED = ("float32", "bfloat16", "int8", "int8-avx2", "int4")

Answers = dict[str, dict[str, int | str]]


def answers(model: str, dtype: str, limit: int | None) -> Answers | None:
    """By task: a digest of the text and whether its tests passed; None where nothing was measured. A run of all tasks
    serves where there is none of so many.
    """
    names = [f"quality-single-line-{model}-{dtype}{size}" for size in ([f"-{limit}"] if limit else []) + [""]]
    paths = [results.FOLDER / f"{name}-{results.machine()}.json" for name in names]
    path = next((path for path in paths if path.exists()), None)
    if not path:
        return None
    samples = json.loads(path.read_text("utf-8"))["samples"]
    return {sample["task"]: sample["autoregressive"] for sample in samples if "autoregressive" in sample}


def compare(reference: Answers, other: Answers) -> dict[str, float]:
    """The share of identical answers, and pass@1 less the reference's in points with its 95% interval."""
    tasks = sorted(reference.keys() & other.keys())
    same = sum(reference[task]["text"] == other[task]["text"] for task in tasks)
    points = [100 * (int(other[task]["pass"]) - int(reference[task]["pass"])) for task in tasks]
    low, high = interval([problem(task) for task in tasks], points)
    return {
        "gaps": len(tasks),
        "identical": same / len(tasks),
        "pass": sum(int(other[task]["pass"]) for task in tasks) / len(tasks),
        "points": sum(points) / len(points),
        "points_low": low,
        "points_high": high,
    }


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.quality.dtypes", description="Each dtype beside another.")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--reference", default="float32", choices=MEASURED)
    parser.add_argument("--limit", type=at_least(1), help="as given to the runs that are compared, all tasks if not")
    asked = parser.parse_args()
    model = catalogue.find(asked.model).name
    reference = answers(model, asked.reference, asked.limit)
    if reference is None:
        command = f"python -m bench.quality --model {asked.model} --dtype {asked.reference} --variants autoregressive"
        command += f" --limit {asked.limit}" if asked.limit else ""
        print(f"{asked.reference} is not measured yet: run `{command}`.", file=sys.stderr)
        return MEND
    metrics: dict[str, float] = {}
    for dtype in (asked.reference, *(each for each in MEASURED if each != asked.reference)):
        if (other := answers(model, dtype, asked.limit)) is not None:
            found = compare(reference, other)
            print(dtype, found)
            metrics |= {f"{dtype}/{name}": round(value, 4) for name, value in found.items()}
    beside = "" if asked.reference == "float32" else f"-to-{asked.reference}"
    return written(f"dtypes{beside}-{model}", line(parser, asked), metrics, [])


if __name__ == "__main__":
    sys.exit(main())
