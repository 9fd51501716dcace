"""`textDocument/completion`: the suggestion in the completion menu, for editors that ask for no ghost text."""

import re

from lsprotocol import types

from dlsp.completions.filters.text import with_newlines
from dlsp.server.offer import first_line
from dlsp.server.question import Question, answered
from dlsp.server.server import Server
from dlsp.server.typing import LONGEST

TRIGGERS = (*".,=([{",)
"""Characters after which an editor should ask, as it does in words anyway; whether to answer is the gate's to say.
Helix, for one, then asks all its servers: after a blank the others would bring nothing but a list of names."""

ALONE = frozenset(["Eglot"])
"""Editors that ask one server alone, and may do so after `MORE`, too."""
MORE = (" ", "\n", *")]:\"'/<>-+*&|@#!")

LINES = frozenset(["Eglot", "helix"])
"""Editors that were seen to put items of several lines in as they are. Others get first lines alone: vim-lsp makes one
line of them, Neovim 0.10 writes NUL."""

MENU_S = 0.7
"""Seconds for an answer that nobody asked for by a key: other servers' names wait for it."""

WIDEST = 60
"""Characters of a label."""

_WORD = re.compile(r"\w*\Z")
_FENCES = re.compile("`{3,}")


def add(server: Server) -> None:
    """Give the server the request."""
    triggers = TRIGGERS + (MORE if server.client_name in ALONE else ())

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=triggers))
    async def completion(params: types.CompletionParams) -> types.CompletionList:
        return await menu(server, params)


async def menu(server: Server, params: types.CompletionParams) -> types.CompletionList:
    """The suggestion and its first line, or that alone (see LINES); a list of some is to be asked for again after every
    key."""
    uri = params.text_document.uri
    word = _word(server, uri, params.position)
    by_key = _by_key(server, params, word)
    made = await answered(server, Question(uri, params.position, by_key, None if by_key else MENU_S))
    items = []
    if made.item and made.item.range:
        end = made.item.range.start
        span = types.Range(types.Position(end.line, end.character - server.units(word)), end)
        items = [_item(server, uri, span, word + text) for text in _texts(server, made.text)]
    for rank, item in enumerate(items):
        item.sort_text = "0" * (rank + 1)  # before other servers'
        item.preselect = not (rank or by_key)  # what comes by itself is sure enough to go before a mere list of names
    # An empty list to be asked for again would keep Helix from showing those of other servers.
    return types.CompletionList(is_incomplete=bool(items), items=items)


def _texts(server: Server, text: str) -> list[str]:
    """What of a suggestion is offered, the best first."""
    line = first_line(text).rstrip("\r")  # with the lines above it that are blank
    if not text.strip():
        return []
    if server.client_name in LINES:
        return list(dict.fromkeys([text, line]))
    return [line] if "\n" not in line else []


def _by_key(server: Server, params: types.CompletionParams, word: str) -> bool:
    """Whether the user asked, for this or what they narrow by typing on.

    A word that is being typed asks as a key does, and some editors say nothing of what made them ask: then the second
    question at a place is a key's.
    """
    if server.document(params.text_document.uri) is None:
        return False
    typing = server.typing(params.text_document.uri)
    again, typing.menu_at = typing.menu_at == params.position, params.position
    kind = params.context.trigger_kind if params.context else None
    if kind != types.CompletionTriggerKind.TriggerForIncompleteCompletions:
        typing.by_key = again or (kind == types.CompletionTriggerKind.Invoked and not word)
    return typing.by_key


def _word(server: Server, uri: str, position: types.Position) -> str:
    """What is typed of a word: menus replace it, and compare items with it."""
    document = server.document(uri)
    place = document and document.cursor(position)
    if not document or not place:
        return ""
    return _WORD.findall(document.source[max(0, place[0] - LONGEST) : place[0]])[0]


def _item(server: Server, uri: str, span: types.Range, text: str) -> types.CompletionItem:
    """`text`, which begins with what is typed of the word, in place of that: `span`."""
    lines = with_newlines(text).strip().split("\n")
    label = lines[0] if len(lines[0]) <= WIDEST else f"{lines[0][: WIDEST - 1]}…"
    if len(lines) > 1:
        label += f" … +{len(lines) - 1}"
    return types.CompletionItem(
        label=label,
        kind=types.CompletionItemKind.Text,  # Helix indents one of the kind `Snippet` anew, and reads its `$`
        detail="dlsp",
        documentation=_documentation(server, uri, text) if label != lines[0] else None,
        filter_text=lines[0],
        insert_text_format=types.InsertTextFormat.PlainText,
        insert_text_mode=types.InsertTextMode.AsIs,
        text_edit=types.TextEdit(span, text),
    )


def _documentation(server: Server, uri: str, text: str) -> types.MarkupContent | str:
    """All of a text whose label shows a part."""
    textual = server.client_capabilities.text_document
    item = textual and textual.completion and textual.completion.completion_item
    if not (item and types.MarkupKind.Markdown in (item.documentation_format or ())):
        return text
    fence = max(["``", *_FENCES.findall(text)], key=len) + "`"
    document = server.document(uri)
    language = document.language_id if document else ""
    return types.MarkupContent(types.MarkupKind.Markdown, f"{fence}{language}\n{text.strip()}\n{fence}")
