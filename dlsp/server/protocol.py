"""pygls made robust: every request is answered, and no answer contains a traceback or document text."""

import json
import logging
import re
from collections.abc import Callable, Container, Generator, Mapping
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from dlsp import __version__
from dlsp.server.documents import Documents

log = logging.getLogger(__name__)

ERRORS = types.ErrorCodes
PLACE = re.compile(r"line (\d+), in (\w+)")
INTERNAL = "Something went wrong inside dlsp; its log says where."


NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells(notebook="*", cells=[types.NotebookCellLanguage("*")])]
)


class Protocol(LanguageServerProtocol):
    """Answers malformed requests with an error; pygls alone would leave the editor waiting.

    `asks_inline`: the editor announces that it requests inline completions.
    """

    asks_inline = False

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Called by the JSON parser for every object, nested ones too; only `handle_message` knows the
        outermost one."""
        return data

    def handle_message(self, message: Any) -> None:
        if not isinstance(message, dict):
            return self._refuse(None, ERRORS.InvalidRequest, "A message must be a JSON object.")
        return self._handle_object(cast("dict[str, Any]", message))

    def _handle_object(self, message: dict[str, Any]) -> None:
        id = message.get("id")
        known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
        method = message.get("method")
        asks = "id" in message and "method" in message
        if message.get("jsonrpc") != "2.0" or (asks and known is None) or not isinstance(method, str | None):
            return self._refuse(known, ERRORS.InvalidRequest, "This is not a message of JSON-RPC 2.0.")
        if method != types.EXIT and (why := self._untimely(method)):
            return self._refuse(known, *why) if asks else None
        if method == types.INITIALIZE:
            self.asks_inline = _asks_inline(message)
        try:
            structured: Any = super().structure_message(message)
        except JsonRpcException as error:
            known_methods = cast("Container[str | None]", types.METHOD_TO_TYPES)  # pyright: ignore[reportUnknownMemberType]
            log.warning("a message of %s does not parse", method if method in known_methods else "some method")
            if asks:
                self._send_response(id, error=error.to_response_error())
            elif known is not None:
                self._handle_response(known, error=error.to_response_error())
            return None
        if asks and not hasattr(structured, "id"):
            return self._refuse(known, ERRORS.InvalidRequest, "This method takes no id: it is not answered.")
        try:
            return super().handle_message(structured)
        except Exception as error:
            log.error("a message could not be handled: %s", type(error).__name__)
            return self._refuse(known, ERRORS.InternalError, INTERNAL) if asks else None

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        # pygls forgets the future of a request but not of a notification, which would leak 2 kB a keystroke.
        def ended(future: Any) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Cancel all running requests. pygls would iterate over a dictionary that cancelled commands are
        removed from."""
        features = cast("Mapping[str, Callable[..., Any]]", self.fm.features)  # pyright: ignore[reportUnknownMemberType]
        if (handler := features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        for id, future in list(self._request_futures.items()):
            if id != self.msg_id and not future.done():
                future.cancel()
        self._shutdown = True

    def unparsed(self) -> None:
        """Answer a message that was not JSON."""
        self._refuse(None, ERRORS.ParseError, "The message is not valid JSON.")

    def keep(self, documents: Documents) -> None:
        """Use `documents` as the editor's documents from now on."""
        self._workspace = documents

    def _untimely(self, method: str | None) -> tuple[int, str] | None:
        """The error for a message that is not allowed in the server's present state, else None."""
        if method is None:
            return None
        if self._shutdown:
            return ERRORS.InvalidRequest, "The server is shutting down."
        if self._workspace is None:
            if method != types.INITIALIZE:
                return ERRORS.ServerNotInitialized, "The first message must be `initialize`."
        elif method == types.INITIALIZE:
            return ERRORS.InvalidRequest, "The server is initialized already."
        return None

    def _refuse(self, id: str | int | None, code: int, sentence: str) -> None:
        # lsprotocol has no response without an id, which JSON-RPC requires if the request's id is unreadable.
        self._send_data({"jsonrpc": "2.0", "id": id, "error": {"code": int(code), "message": sentence}})

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        if error is not None and error.code == ERRORS.InternalError:
            error = types.ResponseError(ERRORS.InternalError, INTERNAL)
        super()._send_response(msg_id, result, error)


def _asks_inline(message: dict[str, Any]) -> bool:
    """Whether `initialize` has the capability, even as `null` (as lsp-mode sends it), which parsing would drop."""
    at: Any = message
    for name in ("params", "capabilities", "textDocument"):
        at = cast("dict[str, Any]", at).get(name) if isinstance(at, dict) else None
    return isinstance(at, dict) and "inlineCompletion" in at


class Server(LanguageServer):
    """pygls' server with this protocol."""

    def __init__(self) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "dlsp", __version__, notebook_document_sync=NOTEBOOKS, protocol_cls=Protocol
        )

    @property
    def lsp(self) -> Protocol:
        """The protocol with its own type."""
        assert isinstance(self.protocol, Protocol)
        return self.protocol

    def hold_documents(self) -> None:
        """Store the editor's documents as `documents.Document`; to be called at `initialize`."""
        self.lsp.keep(Documents(self.workspace))

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """Log errors that pygls would show to the user, and answer messages that could not be parsed."""
        if source is JsonRpcException and unreadable(error):
            self.lsp.unparsed()
        log.info("%s", described(error))
        self.window_log_message(types.LogMessageParams(types.MessageType.Log, described(error)))


def described(error: Exception) -> str:
    """An error as a log line. Messages not written for users are left out, as they might contain document text."""
    if type(error) is JsonRpcException:
        return f"refused: {error.message}"
    if not isinstance(error, JsonRpcInternalError) or not error.data:
        return f"error: {type(error).__name__}"
    place = PLACE.search(error.data["traceback"][-1])
    return f"error: {error.message.partition(':')[0]}{f' in {place[2]}, line {place[1]}' if place else ''}"


def unreadable(error: Exception) -> bool:
    """Whether `error` occurred while pygls parsed a message's JSON."""
    return isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError)
