"""The connections of one client: one a model."""

from dlsp.engine.connection import EngineConnection, EngineListener, RequestCounters
from dlsp.models.catalogue import Model


class EnginePool:
    """Makes the connection to a model's engine when it is first wanted, and closes all of them."""

    def __init__(self, listener: EngineListener, counters: RequestCounters | None = None) -> None:
        self._listener, self._counters = listener, counters
        self._connections: dict[Model, EngineConnection] = {}

    def connection(self, model: Model, threads: int = 0, infill_update: bool = True) -> EngineConnection:
        """The connection for `model`; an engine that it starts from now on gets these `threads` and the infill update
        as given."""
        if model not in self._connections:
            self._connections[model] = EngineConnection(model, self._listener, self._counters)
        connection = self._connections[model]
        connection.threads, connection.infill_update = threads, infill_update
        return connection

    async def close(self) -> None:
        """Leave all engines, which go on for other clients."""
        for connection in self._connections.values():
            await connection.close()
