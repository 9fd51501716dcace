"""Refactorings whose result is known, made up in held-out packages of the corpus in DLSP_CORPUS_DIR.

The first place stands for the user's own edit, all others have to follow: a name, an argument more or less, a call
around a call. The edits that an edit update is trained on are made in the same way, in other packages.
"""

import os
import random
from pathlib import Path

from bench.edits.rows import LANGUAGES, Row
from bench.evals import Missing
from dlsp.edits.history.hunks import Hunk
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.recipe import FillRecipe
from dlsp_engine.train.windows import made_up

EACH = 40
MAX_TRIES = 20_000


def drawn(each: int = EACH) -> list[Row]:
    """`each` refactorings in every language that the held-out packages have, the same at every call. Raises Missing
    without a corpus.
    """
    corpus = os.environ.get("DLSP_CORPUS_DIR")
    if not corpus:
        raise Missing("Set DLSP_CORPUS_DIR to a corpus that `dlsp train corpus` built.")
    recipe = FillRecipe.read("infill-cpu")
    documents = Documents(Path(corpus), "heldout", recipe.seed, recipe.held_out)
    found: list[Row] = []
    for language in LANGUAGES:
        files = [row for row in documents.rows if row["language"] == language]
        rng, count = random.Random(language), 0
        for _ in range(MAX_TRIES if files else 0):
            if count == each:
                break
            if made := made_up(rng.choice(files), rng):
                hunks = tuple(Hunk(one.start, one.end, one.lines) for one in made.changes)
                found.append(Row(f"{language}/{count}/{made.path}", made.path, "".join(made.lines), hunks, {}))
                count += 1
    return found
