"""`textDocument/completion`: suggestions in the completion menu, for editors that do not request inline completions."""

import re
from weakref import WeakKeyDictionary

from lsprotocol import types

from dlsp.completions.closers import inserted
from dlsp.completions.filters.text import with_newlines
from dlsp.completions.selection import first_line
from dlsp.completions.service import TIMEOUT_S, CompletionService
from dlsp.completions.state import MAX_WORD_CHARACTERS
from dlsp.completions.types import Cursor, Position
from dlsp.server.documents import Document
from dlsp.server.protocol import Server
from dlsp.server.session import Session

# Characters after which an editor should request completions, besides inside words; the gate decides whether to
# suggest. Helix sends these requests to all its servers: after a blank the others would only list names.
TRIGGER_CHARACTERS = (*".,=([{",)
# Editors that query a single server, and may do so after further characters.
SINGLE_SERVER_EDITORS = frozenset(["Eglot"])
SINGLE_SERVER_TRIGGER_CHARACTERS = (" ", "\n", *")]:\"'/<>-+*&|@#!")
# Editors known to insert multi-line items unchanged. Others get only the first line: vim-lsp joins the lines, and
# Neovim 0.10 writes NUL between them.
MULTILINE_EDITORS = frozenset(["Eglot", "helix"])
# Timeout in seconds for an automatic request, because other servers' items may wait for it.
UNASKED_TIMEOUT_S = 0.7
MAX_LABEL_CHARACTERS = 60

_WORD = re.compile(r"\w*\Z")
_FENCES = re.compile("`{3,}")


class CompletionMenu:
    """Answers the request, and tracks which requests belong to the same menu."""

    def __init__(self, session: Session, service: CompletionService) -> None:
        self._session, self._service = session, service
        self._asked_at = WeakKeyDictionary[Document, tuple[int | None, types.Position]]()
        self._by_key = WeakKeyDictionary[Document, bool]()

    def register(self, server: Server) -> None:
        """Register the request."""
        more = SINGLE_SERVER_TRIGGER_CHARACTERS if self._session.client.name in SINGLE_SERVER_EDITORS else ()
        options = types.CompletionOptions(trigger_characters=TRIGGER_CHARACTERS + more)

        @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
        async def completion(params: types.CompletionParams) -> types.CompletionList:
            return await self.completion(params)

    async def completion(self, params: types.CompletionParams) -> types.CompletionList:
        """Items for the suggestion, its first line, or both.

        A non-empty list is incomplete, so that the editor requests it again after each keystroke.
        """
        uri, session = params.text_document.uri, self._session
        word = self._word(uri, params.position)
        by_key = self._asked_by_key(params, word)
        with session.client.status.busy():
            cursor = await session.cursor_for_request(uri, params.position)
            if not isinstance(cursor, Cursor):
                place = Position(params.position.line, params.position.character)
                self._service.skip(uri, place, cursor, invoked=by_key)
                return types.CompletionList(is_incomplete=False, items=[])
            session.visited(uri, cursor.position.line, edited=False)
            timeout_s = TIMEOUT_S if by_key else UNASKED_TIMEOUT_S
            result = await self._service.complete(
                cursor, invoked=by_key, timeout_s=timeout_s, keep_generating=not by_key
            )
        end = types.Position(*cursor.position)
        span = types.Range(types.Position(end.line, end.character - session.units(word)), end)
        # Not all editors replace what stands behind the cursor when an item is taken from the menu.
        offered = inserted(result.text, cursor.after[: result.replaced])
        items = [self._item(cursor.language_id, span, word + text) for text in self._texts(offered)]
        for rank, item in enumerate(items):
            item.sort_text = "0" * (rank + 1)  # sorted before other servers' items
            item.preselect = not (rank or by_key)  # it passed the gate, so it may go before a list of names
        # An empty incomplete list would keep Helix from showing other servers' items.
        return types.CompletionList(is_incomplete=bool(items), items=items)

    def _texts(self, text: str) -> list[str]:
        """The texts to offer for a suggestion, best first."""
        line = first_line(text).rstrip("\r")  # includes blank lines above it
        if not text.strip():
            return []
        if self._session.client.name in MULTILINE_EDITORS:
            return list(dict.fromkeys([text, line]))
        return [line] if "\n" not in line else []

    def _asked_by_key(self, params: types.CompletionParams, word: str) -> bool:
        """Whether the user requested completion explicitly, for this menu or the one that typing now narrows down.

        A word being typed sends the same trigger kind as a key, and some editors send none: then a second request at
        the same position counts as explicit.
        """
        document = self._session.document(params.text_document.uri)
        if document is None:
            return False
        here = document.version, params.position
        again, self._asked_at[document] = self._asked_at.get(document) == here, here
        kind = params.context.trigger_kind if params.context else None
        if kind != types.CompletionTriggerKind.TriggerForIncompleteCompletions:
            self._by_key[document] = again or (kind == types.CompletionTriggerKind.Invoked and not word)
        return self._by_key.get(document, False)

    def _word(self, uri: str, position: types.Position) -> str:
        """The start of the word before the cursor, which menus replace and match items against."""
        document = self._session.document(uri)
        place = document and document.cursor(position)
        if not document or not place:
            return ""
        return _WORD.findall(document.source[max(0, place[0] - MAX_WORD_CHARACTERS) : place[0]])[0]

    def _item(self, language_id: str, span: types.Range, text: str) -> types.CompletionItem:
        """An item that replaces `span`, the typed start of the word, by `text`, which begins with it."""
        lines = with_newlines(text).strip().split("\n")
        short = len(lines[0]) <= MAX_LABEL_CHARACTERS
        label = lines[0] if short else f"{lines[0][: MAX_LABEL_CHARACTERS - 1]}…"
        if len(lines) > 1:
            label += f" … +{len(lines) - 1}"
        return types.CompletionItem(
            label=label,
            kind=types.CompletionItemKind.Text,  # Helix re-indents items of the kind `Snippet` and interprets their `$`
            detail="dlsp",
            documentation=self._documentation(language_id, text) if label != lines[0] else None,
            filter_text=lines[0],
            insert_text_format=types.InsertTextFormat.PlainText,
            insert_text_mode=types.InsertTextMode.AsIs,
            text_edit=types.TextEdit(span, text),
        )

    def _documentation(self, language_id: str, text: str) -> types.MarkupContent | str:
        """The whole text, for an item whose label shows only a part of it."""
        textual = self._session.client.capabilities.text_document
        item = textual and textual.completion and textual.completion.completion_item
        if not (item and types.MarkupKind.Markdown in (item.documentation_format or ())):
            return text
        fence = max(["``", *_FENCES.findall(text)], key=len) + "`"
        return types.MarkupContent(types.MarkupKind.Markdown, f"{fence}{language_id}\n{text.strip()}\n{fence}")
