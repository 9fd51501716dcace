"""Lets the engine go on from a prompt or answer a chat: drafts, pieces of text and then whole answers out."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from dlsp.api.answer import Answer, Engine, Options, answer_of, asked, tokens_of
from dlsp.api.cut import Cut
from dlsp.api.lanes import Lane, Lanes

MAX_CONTEXT_TOKENS = 32_768  # of a prompt and its answer: the engine's limit


@dataclass(frozen=True)
class Chat:
    """Messages and descriptions of functions, in the form of the engine's `/v1/generate`."""

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()


# Texts and the ids of tokens, which no text can spell.
Parts = tuple[str | int, ...]
Prompt = Chat | Parts


@dataclass(frozen=True)
class Piece:
    """One step of an answer: the text that is new, and what is drafted behind it, None for a mask."""

    text: str
    canvas: tuple[str | None, ...] = ()


class Generator:
    """Goes on from prompts by the engine. It gives a chat that goes on the session that it had, so that of its messages
    only the new ones are read."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lanes: Lanes[Prompt] = Lanes("chat", _likeness)

    async def stream(
        self, prompt: Prompt, options: Options, count: int = 1
    ) -> AsyncGenerator[tuple[int, Piece | Answer]]:
        """Yield the steps of `count` answers, each with its answer's number, and each `Answer` last. Answer i is that
        of the seed `options.seed` + i. Raises what the engine's client raises."""
        differ = count if options.sampling.temperature > 0 else 1  # greedy answers are all the same
        texts = [_Text(options) for _ in range(differ)]
        with self._lanes.lane(prompt) as lane:
            request = _request(prompt, options, lane, differ)
            async with aclosing(asked(self._engine, self._engine.generate, request)) as events:
                async for event in events:
                    number: int = event["answer"]
                    for each in texts[number].read(event):
                        for copy in [number] if differ > 1 else range(count):
                            yield copy, each
                    if all(text.done for text in texts):
                        return

    async def text(self, prompt: Prompt, options: Options) -> AsyncGenerator[str | Answer]:
        """Yield one answer's new text as it is fixed, and the `Answer` last."""
        async with aclosing(self.stream(prompt, options)) as steps:
            async for _, step in steps:
                if isinstance(step, Answer):
                    yield step
                elif step.text:
                    yield step.text

    async def tokens(self, request: dict[str, Any]) -> dict[str, Any]:
        """The engine's answer to a request for a prompt's tokens. Raises what the engine's client raises."""
        async with aclosing(asked(self._engine, self._engine.tokens, request)) as events:
            async for event in events:
                return event
        raise AssertionError("the engine answers or an error is raised")

    async def answers(self, prompt: Prompt, options: Options, count: int = 1) -> list[Answer]:
        """The whole answers. Raises what the engine's client raises."""
        async with aclosing(self.stream(prompt, options, count)) as pieces:
            found = {number: piece async for number, piece in pieces if isinstance(piece, Answer)}
        return [found[number] for number in range(count)]


class _Text:
    """One answer as its events come."""

    def __init__(self, options: Options) -> None:
        self.done = False
        self._options, self._cut = options, Cut(options.stop)
        self._text, self._sent = "", 0

    def read(self, event: dict[str, Any]) -> list[Piece | Answer]:
        """What an event adds to the answer."""
        if self.done:  # by a stop text that the engine does not know
            return []
        if event["event"] == "generation":
            answer = answer_of(event, self._cut, self._options)
            return self._end(answer)
        self._text += event["text"]
        end, word = self._cut.end(self._text)
        if end is not None:
            tokens = tokens_of(self._text[:end], event.get("confidence", ()))
            return self._end(Answer(self._text[:end], "stop", word, tokens, len(tokens)))
        ready = self._cut.settled(self._text)
        new, self._sent = self._text[self._sent : ready], max(ready, self._sent)
        return [Piece(new, tuple(event["canvas"]) if ready == len(self._text) else ())]

    def _end(self, answer: Answer) -> list[Piece | Answer]:
        self.done = True
        rest = answer.text[self._sent :]
        return [Piece(rest), answer] if rest else [answer]


def _request(prompt: Prompt, options: Options, lane: Lane[Prompt], count: int) -> dict[str, Any]:
    lane.anchor = prompt
    if isinstance(prompt, Chat):
        wanted: dict[str, Any] = {"messages": list(prompt.messages)}
        wanted |= {"tools": list(prompt.tools)} if prompt.tools else {}
    else:
        wanted = {"prompt": list(prompt)}
    limits = {"max_tokens": max(1, min(options.max_tokens, MAX_CONTEXT_TOKENS)), "n": count}
    own = {"session": lane.name, "client": lane.name, "priority": "filling"}
    return options.fields() | limits | wanted | own


def _likeness(prompt: Prompt, anchor: Prompt) -> float:
    """The share of the shorter one's messages, or texts and tokens, with which both begin; 0 with other tools."""
    if isinstance(prompt, Chat) and isinstance(anchor, Chat):
        if prompt.tools != anchor.tools:
            return 0.0
        pairs = list(zip(prompt.messages, anchor.messages, strict=False))
    elif isinstance(prompt, Chat) or isinstance(anchor, Chat):
        return 0.0
    else:
        pairs = list(zip(prompt, anchor, strict=False))
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), len(pairs))
    return same / len(pairs) if pairs else 0.0
