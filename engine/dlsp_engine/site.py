"""Judges a site, a place that an edit may affect: how likely its text and other texts are there, with the edit in the
prompt and without it.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import torch

from dlsp_engine.decode.answer import Answer, Cost, Fill
from dlsp_engine.decode.decoder import Decoder
from dlsp_engine.decode.draft import Copier, resume
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session, common
from dlsp_engine.decode.verify import Drafting
from dlsp_engine.model.rows import Rows
from dlsp_engine.options import Options
from dlsp_engine.request import Request, make_decoder
from dlsp_engine.text.prompt import Gap, Prompt, opening
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Site:
    """A place to be judged: `gap` has the edit in its prompt, `without` is the same gap without it. `text` is what the
    document has in the gap; `candidates` are texts that might replace it. If `propose`, the model also writes a text of
    its own.
    """

    gap: Gap
    without: Gap
    text: str
    candidates: tuple[str, ...] = ()
    propose: bool = True


@dataclass(frozen=True)
class Likelihood:
    """How likely a text of `tokens` tokens is: the log-probability of the text and the gap's end behind it, `given` the
    edit in the prompt and `without` it.

    `without` is None if the model was not asked for a text of its own, or if the site's text was the only one.
    """

    tokens: int
    given: float
    without: float | None


@dataclass(frozen=True)
class Judgement:
    """The result for a site: the likelihoods of its text and of its candidates. `proposal` is the text that the model
    writes with the edit in the prompt, and its likelihood; None if it was not asked for.
    """

    text: Likelihood
    candidates: tuple[Likelihood, ...]
    proposal: tuple[Fill, Likelihood] | None
    cost: Cost
    reason: str = "judged"


class Reader:
    """Scores given texts after one prompt, one text at a time. Rows of the prefix that a text shares with the previous
    one are not run again.

    `log_p` has the log-probability of each token of the text, then that of the gap's end. `best` has the model's own
    choice at each of these places, with its log-probability.
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
        """Index of the first row whose logits are needed; the rows before it are only prefilled."""
        return len(self.prompt) - 1 + len(self.log_p)

    @property
    def done(self) -> bool:
        return len(self.log_p) > len(self.tokens)

    @property
    def total(self) -> float:
        """The log-probability of the whole text and the gap's end behind it."""
        return sum(self.log_p)

    def read(self, tokens: list[int]) -> None:
        """Begin to score `tokens`. Call `plan` and `take` in turn until `done`."""
        session = self.session
        session.advance([*self.prompt, *tokens])
        cached = session.cache.length - len(self.prompt)
        known = max(0, min(cached, common(self.tokens, tokens), len(self.log_p)))
        self.tokens = tokens
        self.log_p, self.best = self.log_p[:known], self.best[:known]
        session.cache.length = min(session.cache.length, self.start)

    def greedy(self, given: int) -> list[tuple[int, float]]:
        """Return the model's own answer after the first `given` tokens of the text, as far as the scores reveal it:
        tokens that agree with the text, and the first that does not.
        """
        run = common(self.tokens[given:], [token for token, _ in self.best[given:]])
        return self.best[given : given + run + 1]

    def plan(self, room: int) -> Rows:
        """Return the rows of the next step, at most `room`."""
        rows, cached = Rows(), self.session.cache.length
        rows.add_clean(self.session.pending[:room], cached)
        rows.scored = list(range(self.start - cached, len(rows)))
        return rows

    def take(self, scores: Scores) -> None:
        """Process the scored rows of the plan."""
        logits = scores.logits
        end = self.start + len(logits)
        log_p = logits.log_softmax(-1)
        given = torch.tensor(self.tokens[len(self.log_p) :][: len(logits)], dtype=torch.long)
        chosen = scores.best()
        self.best += zip(chosen, log_p[torch.arange(len(chosen)), chosen].tolist(), strict=True)
        self.log_p += log_p[torch.arange(len(given)), given].tolist()
        if len(given) < len(logits):
            self.log_p.append(float(log_p[-1, self._stops].logsumexp(-1)))
        self.session.extend([], end - self.session.cache.length)


class SiteRequest(Request):
    """Scores all texts of a site with the edit in the prompt. If the model proposes a text of its own, all are also
    scored without the edit.

    The model's own text nearly always scores higher than the document's; the scores without the edit show how much of
    that is due to the edit. For texts taken from the edit itself they add nothing (`docs/notes/edits.md`). Tokens of
    the model's own answer that scoring reveals are not decoded again: if that answer equals `text`, the proposal takes
    no step.
    """

    def __init__(
        self,
        site: Site,
        opening: Prompt,
        options: Options,
        session: Session,
        tokenizer: Tokenizer,
        drafting: Drafting,
    ) -> None:
        super().__init__(session, options)
        self.site = site
        self._tokenizer = tokenizer
        self._drafting = drafting
        self._known = opening
        self._cut = ""
        self._given: dict[str, float] = {}
        self._plain: dict[str, float] = {}
        self._greedy: list[tuple[int, float]] = []
        self._fill: Fill | None = None
        self._aside: Session | None = None
        self._part: Reader | Decoder | None = None
        self._parts = self._work()
        self._next()

    @property
    def done(self) -> bool:
        return self._part is None

    @property
    def bytes(self) -> int:
        return super().bytes + (self._aside.cache.bytes if self._aside else 0)

    def close(self) -> None:
        self._parts.close()  # the generator refers to this request

    def outcome(self) -> Judgement:
        site, fill = self.site, self._fill
        return Judgement(
            self._likelihood(site.text),
            tuple(map(self._likelihood, site.candidates)),
            (fill, self._likelihood(fill.text)) if fill else None,
            self.cost,
        )

    def _likelihood(self, text: str) -> Likelihood:
        return Likelihood(len(self._tokenizer.encode(text)), self._given[text], self._plain.get(text))

    def _plan_answer(self, room: int, sharing: int) -> Rows:
        if isinstance(self._part, Reader):
            return self._part.plan(room)
        assert self._part, "it is not done"
        return self._part.plan(sharing)

    def _take_answer(self, scores: Scores) -> None:
        assert self._part, "it is not done"
        self._part.take(scores)
        if self._part.done:
            self._next()

    def _next(self) -> None:
        self._part = next(self._parts, None)
        if isinstance(self._part, Reader):
            self.prompt_end = self._part.start
        elif self._part:
            self.prompt_end = len(self.session.tokens) - 1

    def _work(self) -> Generator[Reader | Decoder, None, None]:
        """Yield one reader or decoder after the other; each is stepped until it is done before the next is created."""
        site = self.site
        texts = [*dict.fromkeys([site.text, *site.candidates])]
        reader = self._open(site.gap)
        yield from self._read(reader, texts, self._given)
        if site.propose:
            yield from self._propose(reader, texts)
        if site.propose and len(texts) > 1:
            # The session with the edit in its prompt is kept: requests for the edit's next sites reuse its cache.
            seen = self._aside = self.session
            self.session = seen.fork(opening(site.without, self._tokenizer)[0])
            yield from self._read(self._open(site.without), texts, self._plain)
            self.session, self._aside = seen, None

    def _open(self, gap: Gap) -> Reader:
        """Make the opening of `gap`'s prompt the session's prompt, and return a reader of texts in the gap."""
        tokens, self._cut = opening(gap, self._tokenizer)
        self.cost.prompt_tokens += len(tokens)
        self.cost.cached_tokens += self.session.advance(tokens)
        return Reader(self.session, tokens, self._tokenizer.stops)

    def _read(self, reader: Reader, texts: Sequence[str], likely: dict[str, float]) -> Iterator[Reader]:
        """Score `texts` and store the log-probability of each in `likely`."""
        for text in texts:
            reader.read(self._tokens(text))
            yield reader
            likely[text] = reader.total
            self._greedy = max(self._greedy, self._shown(reader), key=len)

    def _propose(self, reader: Reader, texts: list[str]) -> Iterator[Reader | Decoder]:
        """Decode the model's own text. If it is not among `texts`, append it to them and score it."""
        known, options = self._known, self.options
        answer = Answer(self.site.gap, options, self._tokenizer, known.forced)
        if options.mode != "diffusion":
            tokens = [token for token, _ in self._greedy]
            allowed = tokens[: answer.refused(tokens)]
            answer.commit(allowed, [log_p for _, log_p in self._greedy[: len(allowed)]])
        if not answer.reason:
            self.session.advance([*known.tokens, *answer.tokens])
            otherwise = Copier(self._tokenizer.stops) if options.copy else lambda tokens: ([], [])
            drafter = resume([self._tokens(text) for text in texts], otherwise)
            yield make_decoder(self.session, answer, self._drafting, drafter)
        self.cost.tokens = answer.committed
        self._fill = answer.fill(self.cost)
        if answer.text not in texts:
            texts.append(answer.text)
            yield from self._read(reader, [answer.text], self._given)

    def _tokens(self, text: str) -> list[int]:
        return self._tokenizer.encode(self._cut + text)

    def _shown(self, reader: Reader) -> list[tuple[int, float]]:
        """Return what the reader's scores reveal of the model's answer, as tokens with log-probabilities; empty if the
        text that was read does not begin with what the prompt prescribes.
        """
        known = self._known
        middle = known.tokens[len(reader.prompt) :]
        if reader.tokens[: len(middle)] != middle:
            return []
        shown = reader.greedy(len(middle))
        stands = b"".join(self._tokenizer.token_bytes(token) for token, _ in shown[:-1])
        return shown if len(stands) >= len(known.forced) else []
