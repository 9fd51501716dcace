"""First-line exact match with and without other files in the context: `python -m bench.cross_file --gaps 100`."""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench import results
from bench.command import at_least, guarded, loaded, written
from bench.cross_file.gaps import PACKAGES, CrossGap, chosen, copied, gaps
from bench.journal import Journal
from dlsp.completions import infill
from dlsp.completions.filters import trim
from dlsp.context.build import build
from dlsp.context.parts import Context
from dlsp.context.tokens import DEFAULT_TOKENS
from dlsp.ignore import Rules
from dlsp.index.store import Store
from dlsp.index.update import update
from dlsp.models import catalogue
from dlsp.syntax import languages
from dlsp.syntax.source import Source
from dlsp_engine.train.bootstrap import interval

if TYPE_CHECKING:
    from dlsp_engine import Engine

WITH, WITHOUT = "with other files", "without"


def collect(folder: Path) -> tuple[list[CrossGap], dict[str, Store]]:
    """The gaps of all packages that are installed, and each package's index."""
    found: list[CrossGap] = []
    indexes: dict[str, Store] = {}
    for package in PACKAGES:
        root = copied(package, folder)
        if root:
            indexes[package] = Store.open(folder / "index" / f"{package}.sqlite")
            update(indexes[package], Rules(root))
            found += gaps(root, indexes[package])
    return found, indexes


def context(gap: CrossGap, folder: Path, index: Store | None, budget: int) -> Context:
    language = languages.of(gap.path)
    source = Source(language) if language else None
    rules = Rules(folder / gap.package)
    return build(gap.path, gap.before, gap.after, source=source, index=index, rules=rules, budget=budget)


def ask(engine: "Engine", gap: CrossGap, seen: Context) -> tuple[str, float]:
    """The first line that an editor would be offered, and the milliseconds of prefill."""
    from dlsp_engine import File, Gap, Options

    files = tuple(File(each["path"], each["text"]) for each in seen.files)
    prompt = Gap(seen.window.prefix, seen.window.suffix, path=gap.path, files=files)
    fill = engine.fill(prompt, Options(mode="verified", end=infill.end_rule(gap.before), max_tokens=48))
    offered = trim(fill.text, gap.before, gap.after)
    return offered.split("\n")[0].rstrip(), fill.cost.prefill_ms


def confidence(samples: list[dict[str, Any]]) -> tuple[float, float]:
    """The 95% interval of the ratio; a package's gaps are one group."""
    right = ([each[name]["right"] for each in samples] for name in (WITH, WITHOUT))
    return interval([each["place"].partition("/")[0] for each in samples], *right)


def summary(samples: list[dict[str, Any]]) -> dict[str, float]:
    metrics: dict[str, float] = {"gaps": len(samples)}
    for name in (WITH, WITHOUT):
        own = [each[name] for each in samples]
        metrics[f"{name}/exact"] = statistics.mean(each["right"] for each in own)
        metrics[f"{name}/tokens"] = statistics.mean(each["tokens"] for each in own)
        metrics[f"{name}/prefill_ms"] = statistics.median(each["prefill_ms"] for each in own)
        for kind in ("call", "member"):
            of_kind = [each[name]["right"] for each in samples if each["kind"] == kind]
            metrics[f"{name}/exact_{kind}"] = statistics.mean(of_kind) if of_kind else 0.0
    metrics["ratio"] = metrics[f"{WITH}/exact"] / max(metrics[f"{WITHOUT}/exact"], 1e-9)
    metrics["ratio_low"], metrics["ratio_high"] = confidence(samples)
    metrics["definition_shown"] = statistics.mean(each["shown"] for each in samples)
    return {name: round(value, 4) for name, value in metrics.items()}


def show(metrics: dict[str, float]) -> None:
    table = Table("", "first line right", "calls", "members", "tokens", title=f"{metrics['gaps']:.0f} gaps")
    for name in (WITHOUT, WITH):
        exact = (f"{metrics[f'{name}/{what}']:.1%}" for what in ("exact", "exact_call", "exact_member"))
        table.add_row(name, *exact, f"{metrics[f'{name}/tokens']:.0f}")
    Console().print(table)
    print(f"ratio {metrics['ratio']:.2f} ({metrics['ratio_low']:.2f} to {metrics['ratio_high']:.2f})")


def listed(taken: list[CrossGap]) -> None:
    for gap in taken:
        print(f"{gap.path}:{gap.line} {gap.kind} {gap.other}: {gap.before.rpartition(chr(10))[2]}▮{gap.right}")


def share_shown(taken: list[CrossGap], see: Callable[[CrossGap], Context]) -> None:
    """How many gaps have the definition that they need in the context, and which do not."""
    missed = [gap for gap in taken if not _is_shown(gap, see(gap))]
    for gap in missed:
        print(f"missed {gap.kind} {gap.path}:{gap.line} {gap.name} in {gap.other}")
    print(f"shown: {1 - len(missed) / len(taken):.0%}")


def _is_shown(gap: CrossGap, seen: Context) -> bool:
    return any(gap.name in part.text for part in seen.others)


def filled(engine: "Engine", gap: CrossGap, with_others: Context, without: Context) -> dict[str, Any]:
    """The gap filled in both ways."""
    sample: dict[str, Any] = {"place": _place(gap), "kind": gap.kind, "right": gap.right}
    for name, seen in ((WITH, with_others), (WITHOUT, without)):
        text, prefill_ms = ask(engine, gap, seen)
        tokens = sum(part.tokens for part in (*seen.others, *seen.prefix, seen.suffix))
        sample[name] = {"text": text, "right": text == gap.right, "tokens": tokens, "prefill_ms": round(prefill_ms)}
        if name == WITH:
            sample["shown"] = _is_shown(gap, seen)
    return sample


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.cross_file", description="What other files are worth.")
    parser.add_argument("--gaps", type=at_least(1), default=100)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument(
        "--infill-update",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="the weights with the infill update, or as they were published",
    )
    parser.add_argument("--budget", type=int, default=DEFAULT_TOKENS, help="tokens of context")
    parser.add_argument("--minutes", type=float, default=60, help="no new gap is begun after that; another run goes on")
    parser.add_argument("--shown", action="store_true", help="only count the gaps whose definition is in the context")
    parser.add_argument("--list", action="store_true", help="only show the gaps")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found, indexes = collect(folder)
        taken = chosen(found, asked.gaps)
        print(f"{len(found)} gaps in {len(indexes)} packages, {len(taken)} taken")

        def see(gap: CrossGap, others: bool = True) -> Context:
            return context(gap, folder, indexes[gap.package] if others else None, asked.budget)

        if asked.list:
            listed(taken)
            return 0
        if asked.shown:
            share_shown(taken, see)
            return 0
        model = catalogue.find(asked.model)
        name = f"cross-file-{model.name}{'' if asked.infill_update else '-published'}"
        journal = Journal(results.kept() / f"{name}-{asked.budget}.jsonl")
        missing = [gap for gap in taken if _place(gap) not in journal.entries]
        engine = loaded(model, "int8", asked.infill_update) if missing else None
        end = time.monotonic() + 60 * asked.minutes
        for gap in track(missing, description="filling"):
            if engine is None or time.monotonic() > end:
                break
            journal.add(_place(gap), filled(engine, gap, see(gap), see(gap, others=False)))
    samples = [journal.entries[_place(gap)] for gap in taken if _place(gap) in journal.entries]
    metrics = summary(samples)
    show(metrics)
    command = f"python -m bench.cross_file --gaps {asked.gaps} --model {asked.model} --budget {asked.budget}"
    return written(name, command + ("" if asked.infill_update else " --no-infill-update"), metrics, samples)


def _place(gap: CrossGap) -> str:
    return f"{gap.path}:{gap.line}"


if __name__ == "__main__":
    sys.exit(main())
