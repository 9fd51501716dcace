"""One client's engine connections, one per model."""

from dlsp.engine.connection import EngineConnection, EngineListener, RequestCounters
from dlsp.models.catalogue import Model


class EnginePool:
    """Creates the connection to a model's engine at its first use, and closes all of them."""

    def __init__(self, listener: EngineListener, counters: RequestCounters | None = None) -> None:
        self._listener, self._counters = listener, counters
        self._connections: dict[Model, EngineConnection] = {}

    def connection(self, model: Model, threads: int = 0, infill_update: bool = True) -> EngineConnection:
        """The connection for `model`; an engine that it starts later uses the latest `threads` and `infill_update`."""
        if model not in self._connections:
            self._connections[model] = EngineConnection(model, self._listener, self._counters)
        connection = self._connections[model]
        connection.threads, connection.infill_update = threads, infill_update
        return connection

    async def close(self) -> None:
        """Disconnect from all engines, which keep running for other clients."""
        for connection in self._connections.values():
            await connection.close()
