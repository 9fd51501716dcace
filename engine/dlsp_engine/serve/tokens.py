"""Answers `POST /v1/tokens`: the tokens of a prompt, of any of the forms that `/v1/generate` takes."""

from collections.abc import Callable
from typing import Any

from dlsp_engine.serve.generate import parse_generate
from dlsp_engine.serve.requests import checked, truth
from dlsp_engine.text.chat import Chat, with_control
from dlsp_engine.text.tokenizer import Tokenizer

PROMPT_FIELDS = {"messages", "tools", "prompt", "client"}


def tokens(body: Any, chat: Callable[[], Chat | None], tokenizer: Tokenizer, vocab: int) -> dict[str, Any]:
    """Return the answer: the prompt's `tokens`, the `pieces` of text that they stand for (a list of bytes where a
    token is not whole characters), and its whole `text`. With `control`, names of control tokens in a text of `prompt`
    are these tokens. Raises EngineError with one sentence that names the field and the values it takes.
    """
    checked(body, PROMPT_FIELDS | {"control"})
    asked = {name: value for name, value in body.items() if name in PROMPT_FIELDS}
    (generation,) = parse_generate(asked, chat, vocab).asked
    parts = generation.parts
    if truth(body.get("control", False), "control") and "prompt" in body:
        parts = with_control(parts, tokenizer.added)
    ids = [token for part in parts for token in ([part] if isinstance(part, int) else tokenizer.encode(part))]
    names = {token: name.encode() for name, token in tokenizer.added.items()}
    spelled = [names.get(token) or tokenizer.token_bytes(token) for token in ids]
    text = b"".join(spelled).decode("utf-8", "replace")
    return {"event": "tokens", "tokens": ids, "pieces": [_piece(each) for each in spelled], "text": text}


def _piece(spelled: bytes) -> str | list[int]:
    try:
        return spelled.decode()
    except UnicodeDecodeError:
        return list(spelled)
