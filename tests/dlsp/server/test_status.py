import asyncio
from typing import Any

from dlsp.server.status import BUSY_S, Status


async def test_changes_alone_are_sent() -> None:
    sent: list[Any] = []
    status = Status(lambda method, params: sent.append((method, params["busy"], params["kind"], params["message"])))
    status.engine(True, "Normal", "loading the model")
    status.engine(True, "Normal", "loading the model")
    status.engine(False, "Normal")
    with status:
        pass  # answered at once
    with status, status:
        await asyncio.sleep(2 * BUSY_S)
    status.engine(False, "Error", "No model.")
    assert sent == [
        ("didChangeStatus", True, "Normal", "loading the model"),
        ("didChangeStatus", False, "Normal", ""),
        ("didChangeStatus", True, "Normal", ""),
        ("didChangeStatus", False, "Normal", ""),
        ("didChangeStatus", False, "Error", "No model."),
    ]
