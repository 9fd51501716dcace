"""The composition root: creates the session, the services and their observers, and registers the features.

Only the transport imports it.
"""

import asyncio
from dataclasses import dataclass

from lsprotocol import types

from dlsp.completions.accepts import Accepts
from dlsp.completions.decisions import DecisionLog
from dlsp.completions.gate.learning import Learning
from dlsp.completions.generation import connection_for
from dlsp.completions.observers import AcceptanceLearner, Offered, SkipCounters
from dlsp.completions.service import CompletionService
from dlsp.completions.worker import Worker
from dlsp.engine.connection import EnginePool
from dlsp.server.client import Client
from dlsp.server.editor_log import EditorLog
from dlsp.server.features import alternatives, code_actions, copilot, documents, feedback, instruct
from dlsp.server.features.completion_menu import CompletionMenu
from dlsp.server.features.fill import Fills
from dlsp.server.features.inline_completion import InlineCompletions
from dlsp.server.features.next_edit import copilot as copilot_edits
from dlsp.server.features.next_edit import requests
from dlsp.server.features.next_edit.apply import CarryOn
from dlsp.server.features.next_edit.edits import NextEdits
from dlsp.server.features.other_servers import OtherServers
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks
from dlsp.settings.layers import COPILOT_OPTIONS, SECTION, as_mapping


@dataclass
class App:
    """One editor's server with its parts. `settings_task` pulls the editor's settings and starts the engine."""

    server: Server
    session: Session
    service: CompletionService
    engines: EnginePool
    tasks: Tasks
    others: OtherServers
    learning: Learning
    accepts: Accepts
    decisions: DecisionLog
    settings_task: asyncio.Task[None] | None = None
    closed: bool = False

    async def close(self) -> None:
        """The editor disconnects: close everything except the engines, which other clients may use."""
        if self.closed:
            return
        self.closed = True
        if self.settings_task:
            self.settings_task.cancel()
        self.tasks.close()
        self.others.close()
        self.service.close()
        await self.engines.close()
        await asyncio.to_thread(self._save)
        await self.session.close()

    def _save(self) -> None:
        self.learning.save()
        self.accepts.save()
        self.decisions.close()


def build() -> App:
    """Create a server with its features, not yet running."""
    server = Server()
    client = Client(server)
    worker = Worker()
    session = Session(server, client, worker)
    tasks = Tasks()
    skips = SkipCounters()
    engines = EnginePool(client, skips)
    learning = Learning()
    accepts = Accepts()
    learner = AcceptanceLearner(learning, lambda: (worker.submit(learning.save), worker.submit(accepts.save)))
    decisions = DecisionLog()
    offered = Offered()
    service = CompletionService(engines, learning, [decisions, skips, learner, offered, EditorLog(client)], worker)
    outcomes = feedback.Outcomes(service, learner, accepts, offered)
    others = OtherServers(session)
    inline = InlineCompletions(session, service, others)
    fills = Fills(session, engines, tasks)
    edits = NextEdits(session, engines, tasks)
    carry_on = CarryOn(session, edits)
    app = App(server, session, service, engines, tasks, others, learning, accepts, decisions)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.hold_documents()
        client.name = params.client_info.name if params.client_info else ""
        session.settings.set_initial(params.initialization_options)
        asks_inline = server.lsp.asks_inline
        of_copilot = bool(as_mapping(params.initialization_options).keys() & COPILOT_OPTIONS)
        inline.register(server, announced=asks_inline, with_command=of_copilot)
        if not asks_inline:  # otherwise an editor might show every suggestion twice
            CompletionMenu(session, service).register(server)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        async def begin() -> None:
            await session.pull_settings()
            settings = session.settings.of(None)
            if settings.suggests("") != "off":
                connection_for(settings, engines).connect_in_background()
            await client.register_for_settings(SECTION)

        if not app.closed:
            app.settings_task = asyncio.create_task(begin())
            await asyncio.wait([app.settings_task])

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await app.close()

    documents.register(server, session, service, edits, fills, others, tasks)
    alternatives.register(server, session, service, tasks)
    feedback.register(server, service, learner, accepts, outcomes)
    fills.register(server)
    carry_on.register(server)
    requests.register(server, session, edits, tasks)
    copilot_edits.register(server, session, edits)
    copilot.register(server, session, inline.suggestion, outcomes)
    code_actions.register(server, session, service, fills, carry_on)
    instruct.register(server, session, engines, tasks)
    return app
