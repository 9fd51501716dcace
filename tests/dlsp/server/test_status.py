from typing import Any

from dlsp.server.status import Status


def test_changes_alone_are_sent() -> None:
    sent: list[Any] = []
    status = Status(lambda method, params: sent.append((method, params["busy"], params["kind"], params["message"])))
    status.engine(True, "Normal", "loading the model")
    status.engine(True, "Normal", "loading the model")
    status.engine(False, "Normal")
    with status, status:
        pass
    status.engine(False, "Error", "No model.")
    assert sent == [
        ("didChangeStatus", True, "Normal", "loading the model"),
        ("didChangeStatus", False, "Normal", ""),
        ("didChangeStatus", True, "Normal", ""),
        ("didChangeStatus", False, "Normal", ""),
        ("didChangeStatus", False, "Error", "No model."),
    ]
