"""Of several answers the best: the likeliest, or one that is likely and that the model, asked again, finds right."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from dlsp.api.answer import Answer, Options
from dlsp.api.body import Body, Refused
from dlsp.api.completer import Gap
from dlsp.api.generator import Chat, Generator
from dlsp.api.sampling import Sampling

# How the alternatives to a greedy answer are drawn.
AROUND_GREEDY = Sampling(temperature=0.6, top_p=0.95)

YES, NO = "Yes", "No"
VERDICT = Options(max_tokens=4, constraint={"choices": [YES, NO]})
ASK_CHAT = "Is this answer correct and complete? Reply with Yes or No only."
ASK_GAP = (
    "In this file one part is marked by <part> and </part>.\n\n```\n{before}<part>{text}</part>{after}\n```\n\n"
    "Is the marked part correct and complete, and does it fit what follows it? Reply with Yes or No only."
)
# Characters around a gap that the model is shown when it is asked about an answer.
CHECKED_BEFORE, CHECKED_AFTER = 3000, 1500

# What a text is right with at least: a check is never that sure.
LEAST_RIGHT = 1e-6

# Writes so many answers with these options.
Write = Callable[[Options, int], Awaitable[list[Answer]]]
# The probability that the model gives to a text's being right.
Check = Callable[[str], Awaitable[float]]


@dataclass(frozen=True)
class Effort:
    """How an answer is found: in which mode of the engine, among how many, and whether the model checks each."""

    mode: str = "verified"
    alternatives: int = 1
    checks: bool = False


# By `reasoning_effort`. The model does not reason in any of them.
EFFORTS = {
    "instant": Effort("diffusion"),
    "none": Effort(),
    "minimal": Effort(),
    "low": Effort(),
    "medium": Effort(alternatives=3),
    "high": Effort(alternatives=8, checks=True),
}


def effort_of(body: Body) -> Effort:
    if effort := EFFORTS.get(body.text("reasoning_effort", "low")):
        return effort
    raise Refused(400, f"`reasoning_effort` must be one of {', '.join(EFFORTS)}.", "reasoning_effort")


async def best(write: Write, check: Check, options: Options, count: int, effort: Effort) -> list[Answer]:
    """`count` answers, each the best of `effort.alternatives`. Greedy answers are all the same, so at temperature 0 the
    alternatives are the greedy answer and ones that are drawn, and one choice serves for all."""
    groups = await _groups(write, options, count, effort.alternatives)
    chosen = [await _chosen(group, check if effort.checks else None) for group in groups]
    return [chosen[number % len(chosen)] for number in range(count)]


def chat_check(generator: Generator, chat: Chat) -> Check:
    """Asks about an answer to a chat, in the chat behind it."""

    def question(text: str) -> Chat:
        turns = ({"role": "assistant", "content": text}, {"role": "user", "content": ASK_CHAT})
        return Chat(chat.messages + turns, chat.tools)

    return _check(generator, question)


def gap_check(generator: Generator, gap: Gap) -> Check:
    """Asks about what fills a gap, in a chat that shows it in its place."""

    def question(text: str) -> Chat:
        before, after = gap.before[-CHECKED_BEFORE:], gap.after[:CHECKED_AFTER]
        asked = ASK_GAP.format(before=before, text=text, after=after)
        return Chat(({"role": "user", "content": asked},))

    return _check(generator, question)


def _check(generator: Generator, question: Callable[[str], Chat]) -> Check:
    async def check(text: str) -> float:
        (verdict,) = await generator.answers(question(text), VERDICT)
        probability = math.exp(sum(log_p for _, log_p in verdict.tokens))
        return probability if verdict.text == YES else 1 - probability

    return check


async def _groups(write: Write, options: Options, count: int, alternatives: int) -> list[list[Answer]]:
    """What each answer is chosen from: a group an answer, or one for all where all are greedy."""
    if options.sampling.temperature > 0:
        answers = await write(options, count * alternatives)
        return [answers[number * alternatives :][:alternatives] for number in range(count)]
    group = await write(options, 1)
    if alternatives > 1:
        group += await write(replace(options, sampling=AROUND_GREEDY), alternatives - 1)
    return [group]


async def _chosen(group: list[Answer], check: Check | None) -> Answer:
    """The answer whose tokens are likeliest on average; if it is checked, the one that is most probable as it is
    written and as it is right.
    """
    texts = list(dict.fromkeys(answer.text for answer in group))
    if not check or len(texts) == 1:
        return max(group, key=lambda answer: answer.likelihood)
    right = dict(zip(texts, await asyncio.gather(*map(check, texts)), strict=True))
    return max(group, key=lambda answer: answer.log_p + math.log(max(right[answer.text], LEAST_RIGHT)))
