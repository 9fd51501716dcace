"""The server object: what it knows of its editor."""

from lsprotocol import types
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer

from dlsp import __version__
from dlsp.context.anchor import Anchor
from dlsp.server.documents import Documents
from dlsp.server.latest import Latest
from dlsp.server.link import Link
from dlsp.server.progress import Loading
from dlsp.server.protocol import Protocol
from dlsp.server.settings import Settings, read


class Server(LanguageServer):
    """One editor's server. `anchors` holds the anchor of each document that was asked about."""

    def __init__(self) -> None:
        super().__init__("dlsp", __version__, protocol_cls=Protocol)
        self.latest = Latest()
        self.anchors: dict[str, Anchor] = {}
        self.settings = Settings()
        self.link = self._link()

    def configure(self, params: types.InitializeParams) -> None:
        """Take the editor's settings; what cannot be used is told to the user."""
        assert isinstance(self.protocol, Protocol)
        self.protocol.keep(Documents(self.workspace))
        self.settings, complaints = read(params.initialization_options)
        self.link = self._link()
        for complaint in complaints:
            self.tell(complaint)

    def tell(self, sentence: str) -> None:
        """Show the user a sentence."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"dlsp: {sentence}"))

    def note(self, line: str) -> None:
        """Write a line to the editor's log. Never of the document's text."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Log, line))

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """Log what pygls would pop up in the user's face."""
        self.note(f"{source.__name__}: {type(error).__name__}")

    def _link(self) -> Link:
        return Link(self.settings.model, lambda: Loading(self), self.tell)
