"""Prompts that are no gap: a chat, rendered by the checkpoint's own template, or any text and tokens."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsp_engine.errors import EngineError
from dlsp_engine.model.safetensors_files import read_json
from dlsp_engine.text import gguf_header
from dlsp_engine.text.prompt import Prompt
from dlsp_engine.text.tokenizer import Spelling, Tokenizer

TEMPLATE_KEY = "tokenizer.chat_template"  # GGUF's name of the template
MAX_TEMPLATE_BYTES = 1_000_000
NONCHARACTERS = [chr(code) for code in range(0xFDD0, 0xFDF0)]  # Unicode keeps them for internal use


@dataclass(frozen=True)
class Generation:
    """A prompt that the model goes on from. `parts` are its texts, and the ids of tokens that text cannot spell."""

    parts: tuple[str | int, ...]
    session: str | None = None


def prompt_tokens(asked: Generation, tokenizer: Tokenizer) -> Prompt:
    """Return the prompt. Text is data: characters that spell a control token do not become one. What begins with text
    begins with the tokens that the checkpoint sets before every text.
    """
    tokens: list[int] = [*tokenizer.template.start] if asked.parts and isinstance(asked.parts[0], str) else []
    for part in asked.parts:
        tokens += [part] if isinstance(part, int) else tokenizer.encode(part)
    return Prompt(tokens, b"")


class Writing(Spelling):
    """The tokenizer of an answer that is no gap: the added tokens that stand for text, such as `<tool_call>`, are text
    in it and do not end it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.added, self.spelled, self.words = tokenizer.added, tokenizer.spelled, tokenizer.words
        self.template = tokenizer.template
        self.stops = tokenizer.stops - tokenizer.spelled.keys()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)

    def token_bytes(self, token: int) -> bytes:
        return self.spelled.get(token) or self._tokenizer.token_bytes(token)


def with_control(
    parts: tuple[str | int, ...], added: Mapping[str, int], names: re.Pattern[str] | None = None
) -> tuple[str | int, ...]:
    """Return `parts` with the added tokens that their texts name. `names` finds these, if the caller has it already."""
    names = names or _names(added)
    found: list[str | int] = []
    for part in parts:
        if isinstance(part, int):
            found.append(part)
            continue
        end = 0
        for name in names.finditer(part):
            found += [part[end : name.start()], added[name.group()]]
            end = name.end()
        found.append(part[end:])
    return tuple(part for part in found if part != "")


def _names(added: Mapping[str, int]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(added, key=len, reverse=True))) or "(?!)")


class Chat:
    """Renders chats by a checkpoint's template, a Jinja text. `added` are the tokenizer's added tokens: name -> id.
    `begin` is the name of the token that begins every text, empty if there is none.
    """

    def __init__(self, template: str, added: Mapping[str, int], begin: str = "") -> None:
        """Raises EngineError if the template is not valid."""
        from jinja2 import TemplateError  # a chat is seldom asked for
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        environment.globals |= {"raise_exception": _refuse, "bos_token": begin}
        self._added = added
        self._names = _names(added)
        try:
            self._template = environment.from_string(template)
        except TemplateError as error:
            raise EngineError(f"The model's chat template is not valid: {error}.") from error

    def parts(self, messages: list[dict[str, Any]], tools: list[Any]) -> tuple[str | int, ...]:
        """Return the prompt in which the model answers `messages`. The template's control tokens become tokens, and
        those that a message spells do not. Raises EngineError if the template refuses the messages.
        """
        texts = "".join(_texts([messages, tools]))
        guard = next((char for char in NONCHARACTERS if char not in texts), None)
        if guard is None:
            raise EngineError("The messages hold too many of Unicode's noncharacters.")
        given = self._guarded({"messages": messages, "tools": tools or None}, guard)
        try:
            text = self._template.render(**given, add_generation_prompt=True)
        except Exception as error:  # a template may fail in any way at messages that it does not foresee
            raise EngineError(f"The model's chat template does not take these messages: {_sentence(error)}") from error
        parts = with_control((text,), self._added, self._names)
        cleaned = (part.replace(guard, "") if isinstance(part, str) else part for part in parts)
        return tuple(part for part in cleaned if part != "")

    def _guarded(self, value: Any, guard: str) -> Any:
        """Return `value` with `guard` in each name of an added token that its texts spell."""
        if isinstance(value, str):
            return self._names.sub(lambda name: name.group()[0] + guard + name.group()[1:], value)
        if isinstance(value, dict):
            return {self._guarded(key, guard): self._guarded(each, guard) for key, each in value.items()}
        return [self._guarded(each, guard) for each in value] if isinstance(value, list) else value


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, those of keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value:
            yield from _texts(each)
            if isinstance(value, dict):
                yield from _texts(value[each])


def _refuse(message: str) -> None:
    """What a template calls to refuse messages."""
    raise EngineError(message)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".") + "."


def template_in(checkpoint: Path) -> str | None:
    """Return the chat template in a GGUF file's metadata, or in a checkpoint's folder; None if there is none. Raises
    EngineError if the file is damaged.
    """
    if checkpoint.is_dir():
        return _template_beside(checkpoint)
    try:
        return gguf_header.text_of(checkpoint, TEMPLATE_KEY)
    except gguf_header.DAMAGED as error:
        raise EngineError(f"{checkpoint} is damaged; run `dlsp model pull`.") from error


def _template_beside(folder: Path) -> str | None:
    apart, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    try:
        if apart.is_file() and apart.stat().st_size <= MAX_TEMPLATE_BYTES:
            return apart.read_text(encoding="utf-8")
        found = read_json(config).get("chat_template") if config.is_file() else None
    except (OSError, ValueError) as error:
        raise EngineError(f"The chat template in {folder} cannot be read ({error}).") from error
    return found if isinstance(found, str) and len(found) <= MAX_TEMPLATE_BYTES else None
