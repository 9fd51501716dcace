"""Prompt caches on disk: what an engine saves, the next one has."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dlsp_engine import Engine, Gap, Options
from dlsp_engine.decode.session import Session
from dlsp_engine.errors import EngineError
from dlsp_engine.model import manifest
from dlsp_engine.model.cache import Cache
from dlsp_engine.serve.prompt_caches import MIN_ROWS, PromptCaches, size_limit
from dlsp_engine.serve.sessions import Sessions
from dlsp_kernels.kv_format import BFLOAT16, FLOAT32, INT4, INT8, KvFormat
from tests.engine.serve.conftest import asking
from tests.engine.serve.test_process import MAIN, SERVE

LARGE = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prompts"


@pytest.fixture
def caches(tiny: Engine, folder: Path) -> Callable[..., PromptCaches]:
    """Those of an engine that starts."""

    def start(most_bytes: int = LARGE, version: str = "1") -> PromptCaches:
        return PromptCaches(folder, most_bytes, tiny, version)

    return start


def read(tiny: Engine, tokens: list[int], kv: KvFormat | None = None) -> Session:
    """A session with random keys and values for all tokens but the last."""
    made = tiny.new_session()
    if kv:
        made.cache = Cache(tiny.model.shape, kv)
    made.cache.reserve(len(tokens))
    made.advance(tokens)
    made.cache.length = len(tokens) - 1
    generator = torch.Generator().manual_seed(sum(tokens))
    shape = tiny.model.shape
    made.cache.length = 0
    for layer in range(shape.layers):
        k, v = torch.randn(2, len(tokens) - 1, shape.kv_heads, shape.head_dim, generator=generator)
        made.cache.write(layer, *((k, v) if made.cache.kv.bits != 16 else (k.bfloat16(), v.bfloat16())))
    made.cache.length = len(tokens) - 1
    return made


def kept(*sessions: Session) -> Sessions:
    made = Sessions(LARGE)
    for name, session in enumerate(sessions):
        made.keep(f"session {name}", session)
    return made


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


@pytest.mark.parametrize("kv", [FLOAT32, BFLOAT16, INT8, INT4], ids=lambda kv: f"{kv.bits} bits")
def test_what_is_saved_is_there_after_the_next_start(tiny: Engine, folder: Path, kv: KvFormat, monkeypatch):
    monkeypatch.setattr(tiny.model, "new_cache", lambda: Cache(tiny.model.shape, kv))
    session = read(tiny, list(range(250)) * 2, kv)
    PromptCaches(folder, LARGE, tiny, "1").save(kept(session))
    (again,) = PromptCaches(folder, LARGE, tiny, "1").restored()
    assert again.tokens == session.tokens[:-1]
    assert again.cache.kv == kv
    for held, expected in zip(again.cache.held(), session.cache.held(), strict=True):
        assert torch.equal(held, expected)


def test_an_answer_is_the_same_after_a_restart_and_its_prompt_is_not_prefilled(tiny: Engine, caches):
    gap, options = Gap("a = 1\n" * 100, "\nb = 2\n"), Options(max_tokens=12)
    session = tiny.new_session()
    expected = tiny.fill(gap, options, session)
    caches().save(kept(session))
    request = tiny.request(gap, options)
    request.borrow(caches().restored())
    while not request.done:
        tiny.step([request])
    assert request.outcome().tokens == expected.tokens
    assert request.cost.cached_tokens == request.cost.prompt_tokens - 1


def test_files_and_folder_are_the_users_alone(tiny: Engine, folder: Path, caches):
    os.umask(0)
    caches().save(kept(read(tiny, [1] * 400)))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    found = [path for path in folder.iterdir() if path.name != manifest.LOCK]
    assert len(found) == 2
    assert [stat.S_IMODE(path.stat().st_mode) for path in found] == [0o600, 0o600]


def flipped(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        byte = file.read(1)
        file.seek(-100, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)


def without_manifest(path: Path) -> None:
    manifest.path_of(path).unlink()


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("damage", [flipped, cut, without_manifest, linked])
def test_a_damaged_file_is_refused_and_removed(tiny: Engine, folder: Path, caches, damage: Callable[[Path], None]):
    caches().save(kept(read(tiny, [1] * 400), read(tiny, [2] * 400)))
    assert len(files(folder)) == 2
    damage(files(folder)[0])
    assert len(list(caches().restored())) == 1
    assert len(files(folder)) == 1


def test_those_of_another_version_are_not_read(tiny: Engine, folder: Path, caches):
    caches(version="1").save(kept(read(tiny, [1] * 400)))
    assert not list(caches(version="2").restored())
    assert files(folder), "they are another engine's"
    assert len(list(caches(version="1").restored())) == 1


@pytest.mark.parametrize("change", ["weights", "adapter", "dtype", "keys and values"])
def test_those_of_another_model_are_not_read(tiny: Engine, caches, monkeypatch: pytest.MonkeyPatch, change: str):
    caches().save(kept(read(tiny, [1] * 400)))
    if change == "weights":
        monkeypatch.setattr(tiny, "weights", "another")
    elif change == "adapter":
        monkeypatch.setitem(tiny.model.adapter.metadata, "version", "another")
    elif change == "dtype":
        monkeypatch.setattr(tiny, "dtype", "another")
    else:
        monkeypatch.setattr(tiny.model, "new_cache", lambda: Cache(tiny.model.shape, INT8))
    assert not list(caches().restored())


def test_the_last_used_comes_first_and_the_rest_goes_when_there_is_no_room(tiny: Engine, folder: Path, caches):
    caches().save(kept(*(read(tiny, [number] * 400) for number in (1, 2, 3, 4))))
    one = files(folder)[0].stat().st_size
    assert [session.tokens[0] for session in caches().restored()] == [4, 3, 2, 1]
    small = caches(3 * one)
    list(small.restored())
    small.save(kept(read(tiny, [5] * 400)))
    assert [session.tokens[0] for session in caches().restored()] == [5, 4, 3]
    assert sum(path.stat().st_size for path in files(folder)) <= 3 * one
    assert len(list(folder.glob("*.manifest"))) == 3


def test_one_that_is_too_large_or_too_short_is_not_written(tiny: Engine, folder: Path, caches):
    long = read(tiny, [1] * 800)
    most_bytes = sum(held.nbytes for held in long.cache.held()) - 1
    caches(most_bytes).save(kept(long, read(tiny, [2] * MIN_ROWS), read(tiny, [3] * 400)))
    assert [session.tokens[0] for session in caches().restored()] == [3]


def test_a_place_is_written_again_only_after_much_was_typed(tiny: Engine, folder: Path, caches):
    running, text = caches(), [*range(200), *range(200)]
    running.save(kept(read(tiny, text)))
    (first,) = files(folder)
    running.save(kept(read(tiny, text + [7] * 20)))
    assert files(folder) == [first]
    running.save(kept(read(tiny, text + [7] * 100)))
    (second,) = files(folder)
    assert second != first, "one file for one place"
    assert [len(session.tokens) for session in caches().restored()] == [499]


def test_of_sessions_of_one_place_only_the_last_used_is_saved(tiny: Engine, folder: Path, caches):
    running, text = caches(), [*range(200), *range(200)]
    sessions = kept(read(tiny, [*text, 1, 2]), read(tiny, [*text, 3, 4]))
    running.save(sessions)
    (first,) = files(folder)
    running.save(sessions)
    assert files(folder) == [first]
    assert [session.tokens[400] for session in caches().restored()] == [3]


def test_a_session_that_a_step_takes_while_it_is_written_is_not_saved(tiny: Engine, folder: Path, caches, monkeypatch):
    session = read(tiny, [1] * 400)
    sessions = kept(session)
    held = session.cache.held()

    def taken() -> list[torch.Tensor]:
        sessions.take("session 0")
        return held

    monkeypatch.setattr(session.cache, "held", taken)
    caches().save(sessions)
    assert [path.name for path in folder.iterdir()] == [manifest.LOCK]


def test_a_folder_that_cannot_be_written_harms_nobody(tiny: Engine, folder: Path, caches, caplog):
    folder.write_text("")
    caches().save(kept(read(tiny, [1] * 400)))
    assert not list(caches().restored())
    assert "prompt caches could not be saved" in caplog.text


def test_a_restored_session_is_the_first_to_go(tiny: Engine):
    sessions = Sessions(3 * tiny.new_session().cache.bytes)
    sessions.keep("a", tiny.new_session())
    for _ in range(3):
        sessions.restore(tiny.new_session())
    assert len(sessions) == 3, "there is room for two more"
    sessions.keep("b", tiny.new_session())
    sessions.keep("c", tiny.new_session())
    assert all(sessions.take(name) for name in "abc")


@pytest.mark.parametrize(("setting", "size"), [("", 500_000_000), ("0", 0), ("12", 12_000_000)])
def test_the_setting(setting: str, size: int):
    assert size_limit(setting) == size


@pytest.mark.parametrize("setting", ["-1", "1.5", "much", "²", "99999999"])
def test_a_setting_that_is_no_size(setting: str):
    with pytest.raises(EngineError, match="DLSP_PROMPT_CACHE_MB must be a whole number"):
        size_limit(setting)


class Running:
    """The engine as a process, on a tiny model, with a folder for prompts."""

    def __init__(self, place: Path, main: str = MAIN, megabytes: str = "") -> None:
        command = [sys.executable, "-c", main, *SERVE, "--cache", str(place), "--state", str(place)]
        command += ["--prompts", str(place / "prompts")]
        self.process = subprocess.Popen(command, env={**os.environ, "DLSP_PROMPT_CACHE_MB": megabytes})
        self.state = place / "engine-m.json"

    def ask(self) -> dict[str, Any]:
        """The cost of a request, the same each time."""
        self.wait_for(self.state.exists)
        state = json.loads(self.state.read_text())
        body = {"gaps": [{"prefix": "a = 1\n" * 100, "suffix": "", "session": "s"}], "max_tokens": 2}
        with asking(state["address"], state["token"]) as client:
            events = [json.loads(line) for line in client.post("/v1/infill", json=body).text.splitlines() if line]
        return next(event["cost"] for event in events if "cost" in event)

    def wait_for(self, there: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not there():
            assert self.process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self, name: str = "SIGTERM") -> None:
        self.process.send_signal(signal.Signals[name])
        self.process.wait(30)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="processes are ended at once there")
def test_an_engine_that_starts_again_has_the_prompt_of_before(tmp_path: Path):
    with Running(tmp_path) as engine:
        assert engine.ask()["cached_tokens"] == 0
        engine.end()
    assert files(tmp_path / "prompts")
    with Running(tmp_path) as engine:
        cost = engine.ask()
        assert cost["cached_tokens"] > 0.9 * cost["prompt_tokens"]


def test_an_idle_engine_has_saved_what_it_would_lose_if_it_were_killed(tmp_path: Path):
    main = MAIN.replace("process.load =", "process.SAVE_AFTER_S = 0.1; process.load =")
    with Running(tmp_path, main) as engine:
        engine.ask()
        engine.wait_for(lambda: list((tmp_path / "prompts").glob("*.manifest")))


@pytest.mark.skipif(sys.platform == "win32", reason="processes are ended at once there")
def test_switched_off_it_saves_nothing(tmp_path: Path):
    with Running(tmp_path, megabytes="0") as engine:
        engine.ask()
        engine.end()
    assert not (tmp_path / "prompts").exists()
