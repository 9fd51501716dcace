"""Engines and servers of a run, in folders of their own beside the user's."""

import json
import os
import shutil
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import psutil

from bench.replay import costs
from bench.replay.contender import Contender
from bench.replay.llama import Llama
from bench.replay.serve import NONE, OPEN
from bench.replay.server import Dlsp
from bench.replay.tap import Tap
from bench.replay.vim import Vim
from dlsp import paths
from dlsp.context.build import SOURCES
from dlsp.engine import launch
from dlsp.errors import UserError
from dlsp.ignore import Rules
from dlsp.index import store as index
from dlsp.index.update import update
from dlsp.models import store
from dlsp.models.catalogue import Model

PEER = "llama.vim"
OURS = "dlsp"
# What a name sets of the server that is no setting of the user's (see `serve`).
WITHOUT, GATE = "without", "gate"
OURS_ALONE = {WITHOUT, GATE}


class World:
    """`contender(name, folder)` gives one that is ready to work on scripts of a folder of `workspaces`; all is kept
    in `folder`.

    Names are `llama.vim`, `dlsp`, and `dlsp:SETTING=VALUE` with any of dlsp's settings, `dlsp:without=SOURCE+SOURCE` or
    `dlsp:without=none` for other sources of context (see `dlsp.context.build`), or `dlsp:gate=open`, which shows every
    answer. Raises UserError where one cannot take part.
    """

    def __init__(self, model: Model, folder: Path) -> None:
        self.workspaces = folder / "workspaces"
        self._model, self._folder = model, folder
        self._gguf = store.path(model)
        self._stack = AsyncExitStack()
        self._tap: Tap | None = None
        self._vim: Vim | None = None
        self._servers: dict[tuple[str, bool], tuple[str, Dlsp]] = {}
        self._outside = {each: os.environ.get(each) for each in ("DLSP_STATE_DIR", "DLSP_CACHE_DIR")}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for _folder, server in self._servers.values():
            await server.close()
        if self._vim:
            await self._vim.close()
        await self._stack.aclose()
        for name, value in self._outside.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    async def contender(self, name: str, folder: str) -> Contender:
        if name == PEER:
            if self._vim is None:
                address = await self._llama()
                self._vim = Vim(address, await costs.known(self._folder.parent, self._model.name, address))
            return self._vim
        kept = name, bool(folder)  # edits come between the files of a workspace
        if kept in self._servers:
            known, server = self._servers[kept]
            if known == folder:
                return server
            await server.close()
            del self._servers[kept]
        tap = self._tap = self._tap or await self._engine()
        options = settings(name, self._model)
        how = {each: options.pop(each) for each in OURS_ALONE & options.keys()}
        server = Dlsp(tap, self.workspaces, folder, options, how)
        if folder:
            _index(self.workspaces / folder)
        await server.ready()
        self._servers[kept] = folder, server
        return server

    async def _llama(self) -> str:
        llama = await Llama.start(self._gguf, psutil.cpu_count(logical=False) or 1)
        self._stack.push_async_callback(llama.close)
        return llama.address

    async def _engine(self) -> Tap:
        """The engine, and the tap that servers find in its place."""
        os.environ["DLSP_STATE_DIR"] = str(self._folder / "engine")
        engine = await launch.ensure(self._model)
        await engine.close()

        async def stop() -> None:
            os.environ["DLSP_STATE_DIR"] = str(self._folder / "engine")
            await launch.stop(self._model)

        self._stack.push_async_callback(stop)
        tap = Tap(engine.state.address)
        there = replace(engine.state, address=await tap.open())
        self._stack.push_async_callback(tap.close)
        shutil.rmtree(self._folder / "server", ignore_errors=True)  # what servers learned of their user
        os.environ["DLSP_STATE_DIR"] = str(self._folder / "server")
        os.environ["DLSP_CACHE_DIR"] = str(self._folder / "cache")
        path = paths.state_dir() / f"engine-{self._model.name}.json"
        path.write_text(json.dumps(asdict(there)), encoding="utf-8")
        path.chmod(0o600)
        return tap


def settings(name: str, model: Model) -> dict[str, Any]:
    """What a contender's name sets; UserError where it is none of ours."""
    first, *parts = name.split(":")
    pairs = [one.partition("=") for one in parts]
    if first != OURS or not all(value for _, _, value in pairs):
        raise UserError(f"'{name}' is no contender: use {PEER}, {OURS}, or {OURS}:context=512 for a setting.")
    given = {key: int(value) if value.isdigit() else value for key, _, value in pairs}
    if given.get(GATE, OPEN) != OPEN:
        raise UserError(f"'{name}' is no contender: {GATE} can only be {OPEN}.")
    if (without := str(given.get(WITHOUT, NONE))) != NONE and not {*without.split("+")} <= {*SOURCES}:
        raise UserError(f"'{name}' is no contender: sources of context are {', '.join(SOURCES)}.")
    return {"model": model.name, **given}


def _index(root: Path) -> None:
    """Make the index before anything is timed: an editor has been open for a while."""
    held = index.Store.open(index.place(root))
    update(held, Rules(root))
    held.close()
