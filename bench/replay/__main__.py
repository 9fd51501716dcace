"""The command: `python -m bench.replay --corpus DIR`."""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from bench import results
from bench.command import KEPT, at_least, guarded, written
from bench.journal import Journal
from bench.progress import progress
from bench.replay import edits, files
from bench.replay.contender import Work
from bench.replay.load import Load
from bench.replay.scripts import Script, ordered
from bench.replay.summary import Played, summary
from bench.replay.table import show
from bench.replay.user import TAKES, play, read
from bench.replay.vim import Vim
from bench.replay.world import PEER, World
from dlsp import paths
from dlsp.models import catalogue

CONTENDERS = ["dlsp", "dlsp:mode=autoregressive", PEER]
EDITS, QUICK = 60, 6


@guarded(KEPT)
def main(arguments: list[str] | None = None) -> int:
    """0 when all was played, 1 when some is left, 2 for what the user has to mend, 130 when stopped."""
    return asyncio.run(_run(_arguments(arguments)))


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.replay", description=sys.modules["bench.replay"].__doc__)
    parser.add_argument("--corpus", type=Path, help="a corpus with held-out packages, else DLSP_CORPUS_DIR")
    parser.add_argument("--contenders", nargs="+", default=CONTENDERS, metavar="NAME")
    parser.add_argument("--split", choices=files.SPLITS, default="test", help="fit: other files, to fit the gate on")
    parser.add_argument("--edits", type=int, default=EDITS, help="scripts made of edits, drawn by chance")
    parser.add_argument("--limit", type=at_least(1), help="only so many scripts, drawn by chance")
    parser.add_argument("--quick", action="store_true", help=f"the same as --limit {QUICK}")
    parser.add_argument(
        "--patient", action="store_true", help="wait for every answer: for right or wrong, not for time"
    )
    parser.add_argument(
        "--accepts",
        choices=TAKES,
        default="lines",
        help="what the user takes: words, too, where a line is wrong; or nothing, so that all that is left of a "
        "suggestion is judged",
    )
    parser.add_argument(
        "--closing", action="store_true", help="the editor closes brackets and quotes as they are opened"
    )
    parser.add_argument("--minutes", type=float, help="begin no script after that; the same command goes on")
    parser.add_argument("--fresh", action="store_true", help="forget what was played before")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--out", type=Path, help="the results file, else one in bench/results")
    asked = parser.parse_args(arguments)
    asked.limit = QUICK if asked.quick else asked.limit
    return asked


def _name(asked: argparse.Namespace, model: str) -> str:
    how = ["patient"] * asked.patient + ["closing"] * asked.closing + [asked.accepts] * (asked.accepts != "lines")
    parts = [asked.split if asked.split != "test" else "", *how, model]
    return "-".join(part for part in ("replay", *parts) if part)


async def _run(asked: argparse.Namespace) -> int:
    model = catalogue.find(asked.model)
    writing, packages = files.scripts(files.corpus(asked.corpus), asked.split)
    editing = ordered(edits.scripts(asked.split), "edits")[: asked.edits]
    scripts = ordered(writing + editing, "all")[: asked.limit]
    folder = paths.cache_dir() / "bench" / "replay"
    name = _name(asked, model.name)
    journal = Journal(results.kept() / "replay" / f"{name}.jsonl")
    if asked.fresh:
        journal.forget({_key(who, script) for who in asked.contenders for script in scripts})
    world = World(model, folder / name)
    files.lay_out(world.workspaces, packages, writing)
    done = await _play(asked, scripts, journal, world)
    played = {who: _played(who, scripts, journal) for who in asked.contenders}
    played = {who: of for who, of in played.items() if of}
    if not played:
        return 1
    metrics = summary(played, PEER)
    show(f"{name}: {len(scripts)} scripts", list(played), metrics)
    if not done:
        missing = {who: len(scripts) - len(played.get(who, ())) for who in asked.contenders}
        print("Left to play:", ", ".join(f"{who} {count}" for who, count in missing.items() if count))
        return 1
    limited = f"-{asked.limit}" if asked.limit else ""
    entries = [journal.entries[_key(who, one.script)] for who, of in played.items() for one in of]
    counted = {json.dumps(each["costs"]) for each in entries if each.get("costs")}  # none in older journals
    return written(
        f"{name}{limited}",
        _command(asked),
        metrics,
        _samples(played),
        out=asked.out,
        played_by=Counter(each["commit"] for each in entries),
        llama_costs=[json.loads(one) for one in sorted(counted)],
    )


async def _play(asked: argparse.Namespace, scripts: list[Script], journal: Journal, world: World) -> bool:
    """Play what is missing, script by script and contender by contender in changing order; whether nothing is left."""
    todo = [script for script in scripts if any(_key(who, script) not in journal.entries for who in asked.contenders)]
    until = time.monotonic() + 60 * asked.minutes if asked.minutes else float("inf")
    commit = results.commit()
    with progress("playing", len(todo)) as advance:
        async with world:
            for turn, script in enumerate(todo):
                at = turn % len(asked.contenders)
                for who in asked.contenders[at:] + asked.contenders[:at]:
                    if _key(who, script) in journal.entries:
                        continue
                    contender = await world.contender(who, script.folder)
                    if time.monotonic() > until:
                        return False
                    load = Load()
                    keystrokes = await play(script, contender, asked.patient, TAKES[asked.accepts], asked.closing)
                    entry = {
                        "moments": [asdict(keystroke) for keystroke in keystrokes],
                        "work": asdict(contender.work),
                        "others": load.others(),
                        "costs": asdict(contender.costs) if isinstance(contender, Vim) else None,
                    }
                    journal.add(_key(who, script), entry | {"commit": commit})
                advance()
    return True


def _key(who: str, script: Script) -> str:
    return f"{who} {script.id}"


def _played(who: str, scripts: list[Script], journal: Journal) -> list[Played]:
    found = [(script, journal.entries.get(_key(who, script))) for script in scripts]
    return [
        Played(script, read(entry["moments"]), Work(**entry["work"]), entry["others"])
        for script, entry in found
        if entry
    ]


def _samples(played: dict[str, list[Played]]) -> list[dict[str, object]]:
    """One line a script and contender: of each key what came of it, no text."""
    return [
        {
            "contender": who,
            "script": one.script.id,
            "others": round(one.others, 3),
            "keys": [
                [
                    keystroke.next[0],
                    None if keystroke.took_s is None else round(1e3 * keystroke.took_s, 1),
                    ""
                    if keystroke.text is None
                    else ("m" if keystroke.memory else "e") + ("r" if keystroke.right else "w"),
                ]
                for keystroke in one.keystrokes
            ],
        }
        for who, of in played.items()
        for one in of
    ]


def _command(asked: argparse.Namespace) -> str:
    words = ["python -m bench.replay --contenders", *asked.contenders, "--edits", str(asked.edits)]
    words += ["--model", asked.model] + (["--limit", str(asked.limit)] if asked.limit else [])
    words += ["--split", asked.split] + (["--patient"] if asked.patient else [])
    words += ["--closing"] if asked.closing else []
    words += ["--accepts", asked.accepts] if asked.accepts != "lines" else []
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
