import asyncio
from typing import Any

from dlsp.server.client import BUSY_AFTER_S, Status


class Server:
    """A server, as far as the status needs one."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.protocol = self

    def notify(self, method: str, params: Any) -> None:
        self.sent.append((method, params["busy"], params["kind"], params["message"], params["destination"]))


async def test_changes_alone_are_sent() -> None:
    server = Server()
    status = Status(server)  # type: ignore[arg-type]
    status.engine(busy=True, kind="Normal", message="loading the model")
    status.engine(busy=True, kind="Normal", message="loading the model")
    status.engine(busy=False, kind="Normal", destination="this machine")
    with status.busy():
        pass  # answered at once
    with status.busy(), status.busy():
        await asyncio.sleep(2 * BUSY_AFTER_S)
    status.engine(busy=False, kind="Error", message="No model.")
    assert server.sent == [
        ("didChangeStatus", True, "Normal", "loading the model", ""),
        ("didChangeStatus", False, "Normal", "", "this machine"),
        ("didChangeStatus", True, "Normal", "", "this machine"),
        ("didChangeStatus", False, "Normal", "", "this machine"),
        ("didChangeStatus", False, "Error", "No model.", ""),
    ]
