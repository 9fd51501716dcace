"""Commands that belong to no other feature."""

from dlsp.completions.service import CompletionService
from dlsp.server.protocol import Server

SNOOZE, SNOOZE_MINUTES = "dlsp.snooze", 10


def register(server: Server, service: CompletionService) -> None:
    """Register the commands."""

    @server.command(SNOOZE)
    def snooze(minutes: float = SNOOZE_MINUTES) -> None:
        service.snooze(minutes)
