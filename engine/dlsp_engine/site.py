"""A site: how likely what stands there is, and what might stand there instead, with an edit in sight and without."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from dlsp_engine.decode.answer import Answer, Cost, Fill
from dlsp_engine.decode.budget import Acceptance, Costs
from dlsp_engine.decode.copying import Copier
from dlsp_engine.decode.decoder import Decoder
from dlsp_engine.decode.reading import Reader
from dlsp_engine.decode.resuming import resume
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verified import Drafter
from dlsp_engine.job import Job, decoder
from dlsp_engine.model.rows import Rows
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap, Prompt, opening, prompt
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Site:
    """`gap` with the edit in sight and `without` it; what stands in the gap, and what might stand there instead."""

    gap: Gap
    without: Gap
    text: str
    candidates: tuple[str, ...] = ()
    propose: bool = True


@dataclass(frozen=True)
class Likelihood:
    """Log-probabilities of a text of so many tokens and the gap's end, with the edit in sight and without it.

    `without` is None where no other text was there to be compared with.
    """

    tokens: int
    given: float
    without: float | None


@dataclass(frozen=True)
class Judgement:
    """`proposal` is what the model itself writes with the edit in sight, and how likely that is."""

    text: Likelihood
    candidates: tuple[Likelihood, ...]
    proposal: tuple[Fill, Likelihood] | None
    cost: Cost
    reason: str = "judged"


class SiteJob(Job):
    """Reads all texts with the edit in sight, lets the model propose its own, then reads them without the edit.

    What reading shows of the model's own answer is not decoded again: where `text` stands, proposing takes no step.
    """

    def __init__(
        self,
        site: Site,
        options: Options,
        session: Session,
        tokenizer: Tokenizer,
        costs: Costs,
        acceptance: Acceptance,
    ) -> None:
        super().__init__(session, options)
        self.site = site
        self._tokenizer = tokenizer
        self._costs, self._acceptance = costs, acceptance
        self._likely: list[dict[str, float]] = []
        self._lengths: dict[str, int] = {}
        self._fill: Fill | None = None
        self._part: Reader | Decoder | None = None
        self._parts = self._work()
        self._next()

    @property
    def done(self) -> bool:
        return self._part is None

    def outcome(self) -> Judgement:
        fill = self._fill
        likely = {text: self._likelihood(text) for text in self._lengths}
        return Judgement(
            likely[self.site.text],
            tuple(likely[text] for text in self.site.candidates),
            (fill, likely[fill.text]) if fill else None,
            self.cost,
        )

    def _likelihood(self, text: str) -> Likelihood:
        given, *without = (likely[text] for likely in self._likely)
        return Likelihood(self._lengths[text], given, without[0] if without else None)

    def _ask(self, room: int, sharing: int) -> Rows:
        if isinstance(self._part, Reader):
            return self._part.plan(room)
        assert self._part, "it is not done"
        return self._part.plan(sharing)

    def _answered(self, logits: Tensor) -> None:
        assert self._part, "it is not done"
        self._part.take(logits)
        if self._part.done:
            self._next()

    def _next(self) -> None:
        self._part = next(self._parts, None)
        if isinstance(self._part, Reader):
            self._asked = self._part.start
        elif self._part:
            self._asked = len(self.session.tokens) - 1

    def _work(self) -> Iterator[Reader | Decoder]:
        """One part after the other, each to be stepped until it is done."""
        site = self.site
        texts = dict.fromkeys([site.text, *site.candidates])
        reader, cut = self._lane(site.gap)
        known = prompt(site.gap, self._tokenizer)
        greedy: list[tuple[int, float]] = []
        for text in texts:
            yield from self._read(reader, cut, text)
            greedy = max(greedy, self._greedy(reader, known), key=len)
        if site.propose:
            answer = Answer(site.gap, self.options, self._tokenizer, known.forced)
            if self.options.mode != "diffusion":
                answer.commit([token for token, _ in greedy], [log_p for _, log_p in greedy])
            if not answer.reason:
                self.session.advance([*known.tokens, *answer.tokens])
                drafter = self._drafter([self._tokenizer.encode(cut + text) for text in texts])
                yield decoder(self.session, answer, self._costs, self._acceptance, drafter)
            self.cost.tokens = answer.committed
            self._fill = answer.fill(self.cost)
            if answer.text not in texts:
                texts[answer.text] = None
                yield from self._read(reader, cut, answer.text)
        if len(texts) > 1:
            reader, cut = self._lane(site.without)
            for text in texts:
                yield from self._read(reader, cut, text)

    def _greedy(self, reader: Reader, known: Prompt) -> list[tuple[int, float]]:
        """What the reader shows of the answer to the prompt, where what was read begins with all that is known."""
        middle = known.tokens[len(reader.prompt) :]
        if reader.tokens[: len(middle)] != middle:
            return []
        shown = reader.greedy(len(middle))
        stands = b"".join(self._tokenizer.token_bytes(token) for token, _ in shown[:-1])
        return shown if len(stands) >= len(known.forced) else []

    def _drafter(self, texts: list[list[int]]) -> Drafter:
        return resume(texts, Copier(self._tokenizer.stops) if self.options.copy else lambda tokens: [])

    def _lane(self, gap: Gap) -> tuple[Reader, str]:
        """Begins reading after the gap's prompt; what the prompt cut off to be read again."""
        tokens, cut = opening(gap, self._tokenizer)
        self.cost.prompt_tokens += len(tokens)
        self.cost.cached_tokens += self.session.advance(tokens)
        self._likely.append({})
        return Reader(self.session, tokens, self._tokenizer.stops), cut

    def _read(self, reader: Reader, cut: str, text: str) -> Iterator[Reader]:
        tokens = self._tokenizer.encode(cut + text)
        reader.read(tokens)
        yield reader
        self._likely[-1][text] = reader.total
        self._lengths.setdefault(text, len(tokens))
