"""A rewrite in progress: a window of a file, read as the draft of what it should become, and written anew where it
should change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from dlsp_engine.backend import RowsStep
from dlsp_engine.decode.answer import Answer, Cost
from dlsp_engine.decode.draft import Copier
from dlsp_engine.decode.rewriting import Doubt, Rewriting
from dlsp_engine.decode.scores import Scores
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verify import Drafting
from dlsp_engine.model.rows import Rows
from dlsp_engine.options import MAX_CONTEXT_TOKENS, TEXT_END, Options
from dlsp_engine.request import Request
from dlsp_engine.text.edit_formats.own import OWN, EditFormat, Read
from dlsp_engine.text.prompt import Gap, Prompt
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Change:
    """Replace the characters `start` to `end` (excluded) of the old text by `text`.

    `log_p` is the log-probability of the new text's tokens there, or, where text is only taken away, of the token
    behind. A token that was forced counts among the others than the old one.
    """

    start: int
    end: int
    text: str
    log_p: float = 0.0


@dataclass(frozen=True)
class Rewritten:
    """The result of a rewrite: the changes that turn the window's text into `text`, none if it stays. `tokens` are the
    answer's, without the end token.

    `doubt` is the largest number of nats by which a token is likelier than the one that the window has in its place,
    below 0 if none is; `doubted` is where in the window's text that is, in characters. Both are of the places where the
    answer agrees with the window, its first disagreements included. Where the doubt is not above the margin, a change
    was forced.

    `reason` is `end` after the end token, `stop` after a text that ends answers in the model's edit format, `window`
    where the answer came to the window's end, or `length` if it grew too long: then nothing is changed.
    """

    text: str
    changes: tuple[Change, ...]
    tokens: tuple[int, ...]
    doubt: float
    doubted: int
    reason: str
    cost: Cost


class RewriteRequest(Request):
    """Writes a window anew. The answer may have `options.max_tokens` tokens more than the window has now. If the
    session was used at another place before, `set_aside` is a session that keeps that place's KV cache; else it is
    None.
    """

    def __init__(
        self,
        asked: Rewrite,
        opening: Prompt,
        options: Options,
        session: Session,
        tokenizer: Tokenizer,
        drafting: Drafting,
        edits: bool = False,
        form: EditFormat = OWN,
    ) -> None:
        """`edits` says whether the model has an edit update; `form` is the format of the prompt and the answer."""
        old = form.draft(asked, tokenizer)
        longest = max(len(old), len(tokenizer.encode(asked.body))) if form.ends else len(old)
        most = min(longest + options.max_tokens, MAX_CONTEXT_TOKENS - len(opening.tokens))
        options = replace(options, end=TEXT_END, stop=form.stops, max_tokens=max(1, most))
        super().__init__(session, options)
        self.asked, self._form = asked, form
        self.set_aside = session.set_aside(opening.tokens, edits)
        self.cost.prompt_tokens = len(opening.tokens)
        self.cost.cached_tokens = session.advance(opening.tokens, options.max_tokens, edits)
        self.prompt_end = len(opening.tokens) - 1
        self.answer = Answer(Gap("", ""), options, tokenizer)
        self._old = old
        self._drafting = drafting
        self._copier = Copier(tokenizer.stops) if options.copy else None
        self._decoder = Rewriting(session, self.answer, drafting, self._copier, old, asked.margin, ends=form.ends)

    @property
    def decoder(self) -> Rewriting:
        return self._decoder

    @property
    def done(self) -> bool:
        return self._decoder.done

    def outcome(self) -> Rewritten:
        asked, answer, doubt = self.asked, self.answer, self._decoder.doubt or Doubt(0.0, 0)
        reason = answer.reason or "cancelled"
        read, decode = self._form.read(asked, answer.text), answer.tokenizer.decode
        text = asked.text if reason == "length" else read.text
        doubted = self._form.read(asked, decode(self._old)).place(len(decode(self._old[: doubt.at])))
        found = weighed(changes(asked.text, text), read, answer.confidence)
        return Rewritten(text, found, tuple(answer.tokens), doubt.nats, doubted, reason, self.cost)

    def plan(self, room: int, sharing: int, separate_prefill: bool = False) -> RowsStep:
        """As in `Request`. The draft is read in a step with the end of the prompt only if all of it fits there."""
        return super().plan(room, sharing, separate_prefill or self._decoder.wanted_rows > room)

    def _plan_answer(self, room: int, sharing: int) -> Rows:
        return self._decoder.plan(sharing, room)

    def _take_answer(self, scores: Scores) -> None:
        self._decoder.take(scores)
        if self._decoder.done:
            self._force()
        self.cost.tokens = self.answer.committed

    def _force(self) -> None:
        """If nothing changes, go on from the place that is doubted most with another token there, where `asked.force`
        says so. What was read of the window up to there stays cached.
        """
        doubt, least = self._decoder.doubt, self.asked.force
        is_old = self.answer.tokens == self._old and self._decoder.forbidden is None
        if not is_old or doubt is None or least is None or doubt.nats <= least:
            return
        begun, session = self._old[: doubt.at], self.session
        self.answer = Answer(Gap("", ""), self.options, self.answer.tokenizer)
        self.answer.commit(begun, [0.0] * len(begun))
        known = [*session.tokens[: self.cost.prompt_tokens], *begun]
        session.advance(known, self.options.max_tokens - len(begun), session.cache.edits)
        found = Rewriting(
            session,
            self.answer,
            self._drafting,
            self._copier,
            self._old,
            self.asked.margin,
            forbidden=doubt.at,
            ends=self._form.ends,
        )
        found.doubt = doubt
        self._decoder = found


def changes(old: str, new: str) -> tuple[Change, ...]:
    """Return the changes that turn `old` into `new`, in order: the lines that differ, each run of them without what its
    old and new text begin and end with alike.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    found: list[Change] = []
    for kind, first, last, begin, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            found.append(_least(Change(starts[first], starts[last], "".join(after[begin:stop])), old))
    return tuple(found)


def weighed(found: Sequence[Change], read: Read, confidence: Sequence[tuple[int, float]]) -> tuple[Change, ...]:
    """Return the changes with their `log_p`. `confidence` are the characters and the log-probability of each token of
    the answer, which was `read`; those of marks belong to no change.
    """
    spans: list[tuple[int, int, float]] = []
    at = 0
    for width, log_p in confidence:
        first, last = read.place(at), read.place(at + width)
        spans += [(first, last, log_p)] if first < last or not width else []
        at += width
    weighed: list[Change] = []
    shift = 0  # from places in the old text to those in the new one
    for one in found:
        first = one.start + shift
        last = first + max(1, len(one.text))
        own = [log_p for begin, end, log_p in spans if begin < last and first < max(end, begin + 1)]
        # Behind the last token stand line breaks alone, which are never written anew.
        weighed.append(replace(one, log_p=sum(own or [confidence[-1][1]])))
        shift += len(one.text) - (one.end - one.start)
    return tuple(weighed)


def _least(change: Change, old: str) -> Change:
    """Return the change without what its old and its new text begin and end with alike. A line break of two characters
    stays whole: editors know no place in the middle of one.
    """
    gone, text = old[change.start : change.end], change.text
    head = 0
    while head < min(len(gone), len(text)) and gone[head] == text[head]:
        head += 1
    head -= head > 0 and gone[head - 1] == "\r"
    tail = 0
    while tail < min(len(gone), len(text)) - head and gone[-1 - tail] == text[-1 - tail]:
        tail += 1
    if tail and gone[-tail] == "\n" and "\r" in (gone[-tail - 1 : -tail], text[-tail - 1 : -tail]):
        tail -= 1
    return Change(change.start + head, change.end - tail, text[head : len(text) - tail])
