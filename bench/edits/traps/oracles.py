"""The places that mean the same as a name, by the language's own tools: Pyright for Python, tsserver for TypeScript and
JavaScript. They know types; they are the truth that traps are made from."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from bench.edits.traps.trap import Place

ERROR = 1  # of LSP's severities


class Oracle(Protocol):
    """Knows the files of one project, given as texts by path."""

    def same(self, path: str, offset: int) -> set[Place] | None:
        """All places that mean the same as the one at `offset`, it included; None if it cannot be renamed."""
        ...

    def close(self) -> None: ...


class _Process:
    """A child that speaks JSON messages with `Content-Length` headers."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._child = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.numbers = count(1)

    def send(self, message: dict[str, Any], headed: bool = True) -> None:
        body = json.dumps(message).encode()
        assert self._child.stdin
        self._child.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) if headed else body + b"\n")
        self._child.stdin.flush()

    def read(self) -> dict[str, Any]:
        size = 0
        assert self._child.stdout
        while line := self._child.stdout.readline().strip() or size == 0:
            if isinstance(line, bytes) and line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
            if self._child.poll() is not None:
                raise OSError("The language server ended.")
        return json.loads(self._child.stdout.read(size))

    def close(self) -> None:
        self._child.kill()
        self._child.wait()


class _Lines:
    """Offsets of a text's lines; columns count characters, which are ASCII."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def place(self, offset: int) -> tuple[int, int]:
        row = max(row for row, start in enumerate(self._starts) if start <= offset)
        return row, offset - self._starts[row]

    def offset(self, row: int, column: int) -> int:
        return self._starts[row] + column


class Pyright:
    """Pyright's language server for a folder, in which these files are open."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self._folder, self._lines = folder.resolve(), {path: _Lines(text) for path, text in files.items()}
        server = Path(sys.executable).with_name("pyright-langserver")
        self._process = _Process([str(server), "--stdio"], folder)
        root = self._folder.as_uri()
        folders = [{"uri": root, "name": "project"}]
        self._ask("initialize", {"processId": None, "rootUri": root, "capabilities": {}, "workspaceFolders": folders})
        self._tell("initialized", {})
        for path, text in files.items():
            document = {"uri": self._uri(path), "languageId": "python", "version": 1, "text": text}
            self._tell("textDocument/didOpen", {"textDocument": document})

    def same(self, path: str, offset: int) -> set[Place] | None:
        row, column = self._lines[path].place(offset)
        position = {"line": row, "character": column}
        params = {"textDocument": {"uri": self._uri(path)}, "position": position}
        found = self._ask("textDocument/references", {**params, "context": {"includeDeclaration": True}})
        return {place for each in found or () if (place := self._place(each))} or None

    def errors(self, path: str, text: str) -> list[tuple[int, str]]:
        """What is wrong in a file that is not open, if it had this text: offsets and messages."""
        uri, version, lines = self._uri(path), next(self._process.numbers), _Lines(text)
        document = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        told: dict[str, Any] = {}
        while (told.get("uri"), told.get("version")) != (uri, version):
            message = self._process.read()
            self._answer(message)
            told = message["params"] if message.get("method") == "textDocument/publishDiagnostics" else {}
        self._tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        starts = [(each["range"]["start"], each) for each in told["diagnostics"] if each["severity"] == ERROR]
        return [(lines.offset(at["line"], at["character"]), each["message"]) for at, each in starts]

    def close(self) -> None:
        self._process.close()

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self._process.numbers)
        self._process.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            message = self._process.read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")
            self._answer(message)

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self._process.send({"jsonrpc": "2.0", "method": method, "params": params})

    def _answer(self, message: dict[str, Any]) -> None:
        """Answer what the server asks: it gets no settings."""
        if "id" in message and "method" in message:
            items = message["params"].get("items", ()) if message["method"] == "workspace/configuration" else ()
            answer = [None] * len(items) if items else None
            self._process.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})

    def _uri(self, path: str) -> str:
        return (self._folder / path).as_uri()

    def _place(self, location: dict[str, Any]) -> Place | None:
        file = Path(unquote(urlsplit(location["uri"]).path))
        path = file.relative_to(self._folder).as_posix() if file.is_relative_to(self._folder) else ""
        start = location["range"]["start"]
        lines = self._lines.get(path)
        return (path, lines.offset(start["line"], start["character"])) if lines else None


class TsServer:
    """TypeScript's server for the files of a folder; `package` is where the `typescript` package lies."""

    def __init__(self, folder: Path, files: dict[str, str], package: Path) -> None:
        self._folder, self._lines = folder.resolve(), {path: _Lines(text) for path, text in files.items()}
        command = ["node", str(package / "lib/tsserver.js"), "--disableAutomaticTypingAcquisition"]
        self._process = _Process(command, folder)
        preferences = {"providePrefixAndSuffixTextForRename": True}
        self._ask("configure", {"preferences": preferences})
        for path in files:
            self._send("open", {"file": str(self._folder / path)})

    def same(self, path: str, offset: int) -> set[Place] | None:
        row, column = self._lines[path].place(offset)
        given = {"file": str(self._folder / path), "line": row + 1, "offset": column + 1}
        answer = self._ask("rename", given) or {}
        if not answer.get("info", {}).get("canRename"):
            return None
        found: set[Place] = set()
        for group in answer["locs"]:
            file = Path(group["file"])
            there = file.relative_to(self._folder).as_posix() if file.is_relative_to(self._folder) else ""
            lines = self._lines.get(there)
            # A place that must be written in full, as `{name: other}`, is no plain rename.
            if lines is None or any("prefixText" in each or "suffixText" in each for each in group["locs"]):
                return None
            found |= {(there, lines.offset(e["start"]["line"] - 1, e["start"]["offset"] - 1)) for e in group["locs"]}
        return found

    def close(self) -> None:
        self._process.close()

    def _send(self, command: str, arguments: dict[str, Any]) -> int:
        number = next(self._process.numbers)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        self._process.send(message, headed=False)
        return number

    def _ask(self, command: str, arguments: dict[str, Any]) -> Any:
        number = self._send(command, arguments)
        while True:
            message = self._process.read()
            if message.get("type") == "response" and message.get("request_seq") == number:
                return message.get("body")
