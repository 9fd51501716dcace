"""Draws gaps together with the text that was in them, to train and to score an infill update."""

import random
from collections import defaultdict
from typing import NamedTuple

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import prompt
from dlsp_engine.text.tokenizer import Tokenizer
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.recipe import FillRecipe

MAX_TRIES = 20_000  # places tried for one gap before an error is raised


class Fill(NamedTuple):
    """A gap in tokens: `prompt` is what the model is given, `answer` is the text that was in it and then the end token
    (the first of those that end a gap). `shares` are the weights of the answer's tokens in the loss; empty: the
    recipe's.
    """

    prompt: list[int]
    answer: list[int]
    kind: str
    language: str
    shares: tuple[float, ...] = ()


class Fills:
    """Draws gaps from documents, by the recipe's shares of kinds and languages."""

    def __init__(self, documents: Documents, tokenizer: Tokenizer, recipe: FillRecipe) -> None:
        self._documents = documents
        self._tokenizer = tokenizer
        self._recipe = recipe
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(documents.rows):
            self._numbers[row["language"]].append(number)
        self.languages = {each: share for each, share in recipe.languages.items() if self._numbers[each]}
        if not self.languages:
            raise EngineError("The corpus has no file in any of the recipe's languages; build a larger one.")

    def draw(self, rng: random.Random, kind: str = "", language: str = "") -> Fill:
        """Return one gap, of this kind and language or by the recipe's shares. Raises EngineError if none is found."""
        recipe = self._recipe
        for _ in range(MAX_TRIES):
            one = kind or _drawn(recipe.kinds, rng)
            of = language or _drawn(self.languages, rng)
            if made := self._made(one, of, rng):
                return made
        raise EngineError(f"The corpus has no gap of the kind '{kind}' in {language or 'any language'}.")

    def batch(self, turn: int) -> list[Fill]:
        """Return the gaps of forward pass number `turn`, which are the same at every call: as many as have the recipe's
        number of tokens.
        """
        rng = random.Random(f"{self._recipe.seed}/{turn}")
        made: list[Fill] = []
        while sum(len(one.prompt) + len(one.answer) for one in made) < self._recipe.tokens:
            made.append(self.draw(rng))
        return made

    def held_out(self, each: int) -> list[Fill]:
        """Return `each` gaps of each kind, the languages in turn: the update is scored on them during training."""
        rng, languages = random.Random(0), list(self.languages)
        kinds = self._recipe.kinds
        return [self.draw(rng, kind, languages[i % len(languages)]) for kind in kinds for i in range(each)]

    def _made(self, kind: str, language: str, rng: random.Random) -> Fill | None:
        least, most, largest = self._recipe.characters
        window = rng.randint(least, largest if rng.random() < self._recipe.large else most)
        found = self._documents.gap(rng.choice(self._numbers[language]), kind, window, rng)
        if not found:
            return None
        gap, middle = found
        request = prompt(gap, self._tokenizer)
        answer = self._tokenizer.encode(request.forced.decode("utf-8", "replace") + middle)
        if not answer or len(answer) > self._recipe.longest or len(request.tokens) + len(answer) > self._recipe.whole:
            return None
        return Fill(request.tokens, [*answer, min(self._tokenizer.stops)], kind, language)


def _drawn(shares: dict[str, float], rng: random.Random) -> str:
    return rng.choices(list(shares), list(shares.values()))[0]
