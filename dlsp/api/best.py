"""Of several answers the best: the likeliest, or the one that the model, asked again, most surely finds right."""

import asyncio
import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from dlsp.api.answer import Answer, Options
from dlsp.api.generator import Chat, Generator, Piece
from dlsp.api.sampling import Sampling

# How the alternatives to a greedy answer are drawn.
AROUND_GREEDY = Sampling(temperature=0.6, top_p=0.95)
QUESTION = "Is this answer correct and complete? Reply with Yes or No only."
YES, NO = "Yes", "No"
VERDICT = Options(max_tokens=4, constraint={"choices": [YES, NO]})


@dataclass(frozen=True)
class Effort:
    """How an answer is found: in which mode of the engine, among how many, and whether the model checks each."""

    mode: str = "verified"
    alternatives: int = 1
    checks: bool = False


async def best(
    generator: Generator, chat: Chat, options: Options, count: int, effort: Effort
) -> AsyncGenerator[tuple[int, Piece | Answer]]:
    """As `Generator.stream`; each answer is the best of `effort.alternatives`. Greedy answers are all the same, so at
    temperature 0 the alternatives are the greedy answer and ones that are drawn, and one choice serves for all."""
    groups = await _groups(generator, chat, options, count, effort.alternatives)
    chosen = [await _chosen(generator, chat, group, effort.checks) for group in groups]
    for number in range(count):
        answer = chosen[number % len(chosen)]
        yield number, Piece(answer.text)
        yield number, answer


async def _groups(
    generator: Generator, chat: Chat, options: Options, count: int, alternatives: int
) -> list[list[Answer]]:
    """What each answer is chosen from: a group an answer, or one for all where all are greedy."""
    if options.sampling.temperature > 0:
        answers = await generator.answers(chat, options, count * alternatives)
        return [answers[number * alternatives :][:alternatives] for number in range(count)]
    group = await generator.answers(chat, options)
    if alternatives > 1:
        group += await generator.answers(chat, replace(options, sampling=AROUND_GREEDY), alternatives - 1)
    return [group]


async def _chosen(generator: Generator, chat: Chat, group: list[Answer], checks: bool) -> Answer:
    if checks and len({answer.text for answer in group}) > 1:
        return await _checked(generator, chat, group)
    return max(group, key=lambda answer: answer.likelihood)


async def _checked(generator: Generator, chat: Chat, answers: list[Answer]) -> Answer:
    """The one that the model finds right with the highest probability; of equals the likeliest."""
    texts = list(dict.fromkeys(answer.text for answer in answers))
    right = dict(zip(texts, await asyncio.gather(*(_right(generator, chat, text) for text in texts)), strict=True))
    return max(answers, key=lambda answer: (right[answer.text], answer.likelihood))


async def _right(generator: Generator, chat: Chat, text: str) -> float:
    """The probability that the model gives to an answer's being right."""
    turns = ({"role": "assistant", "content": text}, {"role": "user", "content": QUESTION})
    (verdict,) = await generator.answers(Chat(chat.messages + turns, chat.tools), VERDICT)
    probability = math.exp(sum(log_p for _, log_p in verdict.tokens))
    return probability if verdict.text == YES else 1 - probability
