"""Why a request of our own has no answer: an error of JSON-RPC with one sentence for the user."""

from collections.abc import Iterator
from contextlib import contextmanager

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.errors import UserError
from dlsp.server.latest import Stale


@contextmanager
def refusing(stale: str = "The document has changed.") -> Iterator[None]:
    """Tell the client what is raised here; `stale` where something newer came."""
    try:
        yield
    except Stale:
        raise JsonRpcException(stale, types.LSPErrorCodes.ServerCancelled) from None
    except TimeoutError:
        raise JsonRpcException("The engine took too long; try again.", types.LSPErrorCodes.RequestFailed) from None
    except UserError as error:
        raise JsonRpcException(str(error), types.LSPErrorCodes.RequestFailed) from None
