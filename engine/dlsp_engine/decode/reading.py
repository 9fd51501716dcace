"""How likely given texts are after one prompt."""

import torch
from torch import Tensor

from dlsp_engine.decode.sampling import greedy
from dlsp_engine.decode.session import Session, common
from dlsp_engine.model.rows import Rows


class Reader:
    """Reads one run of tokens after the other. What a run begins with like the one before is not read again.

    `log_p` and `best` have, for each token of the run and for the end behind it, the log-probability that the model
    gave it, and the model's own choice with its log-probability.
    """

    def __init__(self, session: Session, prompt: list[int], stops: frozenset[int]) -> None:
        self.session = session
        self.prompt = prompt
        self.tokens: list[int] = []
        self.log_p: list[float] = []
        self.best: list[tuple[int, float]] = []
        self._stops = torch.tensor(sorted(stops), dtype=torch.long)

    @property
    def start(self) -> int:
        """The first row that is asked for its logits; those before it are the prompt's."""
        return len(self.prompt) - 1 + len(self.log_p)

    @property
    def done(self) -> bool:
        return len(self.log_p) > len(self.tokens)

    @property
    def total(self) -> float:
        """The log-probability of the whole run and the end behind it."""
        return sum(self.log_p)

    def read(self, tokens: list[int]) -> None:
        """Read `tokens` next."""
        session = self.session
        session.advance([*self.prompt, *tokens])
        cached = session.cache.length - len(self.prompt)
        known = max(0, min(cached, common(self.tokens, tokens), len(self.log_p)))
        self.tokens = tokens
        self.log_p, self.best = self.log_p[:known], self.best[:known]
        session.cache.length = min(session.cache.length, self.start)

    def greedy(self, given: int) -> list[tuple[int, float]]:
        """The model's own answer after the first `given` tokens of the run, as far as reading showed it."""
        run = common(self.tokens[given:], [token for token, _ in self.best[given:]])
        return self.best[given : given + run + 1]

    def plan(self, room: int) -> Rows:
        rows, cached = Rows(), self.session.cache.length
        rows.add_clean(self.session.pending[:room], cached)
        rows.scored = list(range(self.start - cached, len(rows)))
        return rows

    def take(self, logits: Tensor) -> None:
        """logits [scored rows of the plan, vocab] in float32."""
        end = self.start + len(logits)
        log_p = logits.log_softmax(-1)
        given = torch.tensor(self.tokens[len(self.log_p) :][: len(logits)], dtype=torch.long)
        chosen = greedy(logits)
        self.best += zip(chosen, log_p[torch.arange(len(chosen)), chosen].tolist(), strict=True)
        self.log_p += log_p[torch.arange(len(given)), given].tolist()
        if len(given) < len(logits):
            self.log_p.append(float(log_p[-1, self._stops].logsumexp(-1)))
        self.session.extend([], end - self.session.cache.length)
