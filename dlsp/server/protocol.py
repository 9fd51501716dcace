"""pygls, with every malformed request answered."""

from typing import Any

from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

from dlsp.server.documents import Documents


class Protocol(LanguageServerProtocol):
    """Answers a request that does not parse with its error; pygls alone would leave the editor waiting."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def keep(self, documents: Documents) -> None:
        """Hold the editor's documents in `documents` from now on."""
        self._workspace = documents
