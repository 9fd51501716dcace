"""Answers requests for next edits: by dlsp's own where these find something, else by the chat model."""

import math
from dataclasses import dataclass, replace

from dlsp.api import edits
from dlsp.api.answer import Answer, Engine, Options
from dlsp.api.carried import carried
from dlsp.api.cut import Cut
from dlsp.api.edits import Edit, EditPrompt
from dlsp.api.generator import Generator


@dataclass(frozen=True)
class Rewritten:
    """A region as it should be, and how sure that is, from 0 to 1. `answer` is the chat model's, empty if it was not
    asked."""

    region: str
    confidence: float
    answer: Answer


class Editor:
    """Writes regions of files anew, with the same engine as `generator`."""

    def __init__(self, engine: Engine, generator: Generator) -> None:
        self._engine, self._generator = engine, generator

    async def written(self, edit: Edit, options: Options) -> Rewritten:
        """The region as it should be, as it is where nothing better is known. Raises what the engine's client
        raises."""
        if found := await carried(self._engine, edit):
            region, confidence = found
            return Rewritten(region, confidence, Answer("", "stop"))
        answer = await edits.asked(self._generator, edits.SYSTEM, edits.prompt_of(edit), options)
        return Rewritten(edits.rewritten(edit.region, answer), math.exp(answer.likelihood), answer)

    async def replied(self, prompt: EditPrompt, options: Options) -> Answer:
        """The answer in the form that the prompt's client expects, up to its stop texts. Raises what the engine's
        client raises."""
        found = await self.written(prompt.edit, replace(options, stop=()))
        text = prompt.reply(found.region)
        return replace(found.answer, text=text[: Cut(options.stop).end(text)[0]], reason="stop", tokens=())
