"""`python -m bench.gpu.rate LOG`: canvas rows a second, the median over the last steps of a run; 0 without a log."""

import json
import statistics
import sys
from pathlib import Path


def main() -> int:
    path = Path(sys.argv[1])
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    rates = [line["rows_per_second"] for line in lines if "rows_per_second" in line][-10:]
    print(round(statistics.median(rates)) if rates else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
