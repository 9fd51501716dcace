"""Show in the editor that the engine is loading."""

import asyncio
import uuid
from contextlib import suppress

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

CREATE_S = 2


class Loading:
    """A `$/progress` that says nothing to an editor that does not show them."""

    def __init__(self, server: LanguageServer) -> None:
        self._progress = server.work_done_progress
        window = server.client_capabilities.window
        self._wanted = bool(window and window.work_done_progress)
        self._shown = False
        self._token = str(uuid.uuid4())

    async def begin(self) -> None:
        if not self._wanted:
            return
        with suppress(JsonRpcException, TimeoutError):
            async with asyncio.timeout(CREATE_S):
                await self._progress.create_async(self._token)
            self._shown = True
            self._progress.begin(self._token, types.WorkDoneProgressBegin("dlsp: loading the model"))

    def report(self, line: str) -> None:
        if self._shown:
            self._progress.report(self._token, types.WorkDoneProgressReport(message=line))

    def end(self, line: str) -> None:
        if self._shown:
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=line))
