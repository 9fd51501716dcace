"""What is offered at a moment, of the answers that are there."""

import re
from dataclasses import dataclass

from lsprotocol import types

from dlsp.completions import infill
from dlsp.completions.cache import CachedCompletion, Remainder, before_closers
from dlsp.completions.filters.text import line_ending, with_endings
from dlsp.completions.gate import gate
from dlsp.completions.gate.features import Edit
from dlsp.completions.gate.gate import Verdict
from dlsp.completions.types import SkipReason
from dlsp.context.parts import plain
from dlsp.server.moment import Moment
from dlsp.server.server import Server

_FIRST_LINE = re.compile(r"\s*\S[^\n]*")


@dataclass(frozen=True)
class Offer:
    """An item, or why there is none; `memory`: without asking the engine."""

    item: types.InlineCompletionItem | None = None
    quiet: SkipReason | None = None
    verdict: Verdict | None = None
    memory: bool = False
    note: str = ""

    @property
    def text(self) -> str:
        return str(self.item.insert_text) if self.item else ""


def offer(server: Server, moment: Moment, invoked: bool, asked: bool = False) -> Offer | None:
    """What the answers say to this moment, as far as manners allow; None where the engine is to be asked (on).

    `asked`: it was asked for this moment, and whatever lines it has written do.
    """
    found = moment.typing.memory.find(moment.before, moment.after)
    if found is None:
        return None
    answer, rest = found
    text, quiet = _text(server, moment, answer, rest, invoked)
    if not text and not answer.reason:
        return None
    facts = moment.facts(agreed=rest.typed)
    if not asked and not invoked and facts.edit is Edit.DELETED and not answer.shown:
        return None  # what stood here before is given back; anything else would come unasked
    if not text:
        known = answer.reason != "length" and not (invoked and not asked)
        return Offer(quiet=quiet or SkipReason.EMPTY, memory=not asked) if known or asked else None
    verdict = _verdict(server, moment, answer, rest, text)
    if not invoked:
        # What is on the screen stays there as long as typing agrees with it.
        stays = verdict.quiet is SkipReason.UNSURE and answer.still_shown(rest)
        if verdict.quiet is SkipReason.UNSURE and not stays:
            text, verdict = _sure_part(server, moment, answer, rest, text) or (text, verdict)
        if moment.typing.sent_away(moment.position.line, text):
            return Offer(quiet=SkipReason.DISMISSED, verdict=verdict, memory=not asked)
        if verdict.quiet and not stays:
            return Offer(quiet=verdict.quiet, verdict=verdict, memory=not asked)
    answer.shown = Remainder(text, rest.typed, rest.closers)
    shown = with_endings(text, line_ending(moment.before + moment.after))
    made = Offer(item(shown, moment.position), None, verdict, not asked, _note(answer, shown, verdict, not asked))
    server.feedback.offered(moment, made)
    return made


def first_line(text: str) -> str:
    """The text up to the end of its first line that is not blank."""
    found = _FIRST_LINE.match(text)
    return found[0] if found else ""


def item(text: str, position: types.Position) -> types.InlineCompletionItem:
    """`text` inserted at `position`. Without a range, VS Code would replace the rest of the line."""
    return types.InlineCompletionItem(text, range=types.Range(position, position))


def _text(
    server: Server, moment: Moment, answer: CachedCompletion, rest: Remainder, whole: bool
) -> tuple[str, SkipReason | None]:
    """What of an answer belongs at the cursor, with `\\n` at the line ends: what is left of the text that was offered
    last, else, or for the `whole` of it, what the filters leave of the whole lines that are there."""
    line_before = moment.before[moment.before.rfind("\n") + 1 :]
    if not whole and (left := before_closers(answer.still_shown(rest), line_before, rest.closers)):
        return left, None
    there = rest.text if answer.reason else rest.text[: max(0, rest.text.rfind("\n"))]
    if not there.strip():
        return "", None
    source = server.surroundings(moment.uri).source(moment.path)
    text, quiet = infill.trimmed(there, moment.before, moment.after, source)
    return plain(text), quiet


def _verdict(server: Server, moment: Moment, answer: CachedCompletion, rest: Remainder, text: str) -> Verdict:
    shown = first_line(text)
    log_p = answer.log_p(rest.typed, rest.typed + len(shown))
    shift = server.learning.shift(moment.language)
    return gate.shows(moment.facts(agreed=rest.typed), shown, log_p, moment.mode, shift)


def _sure_part(
    server: Server, moment: Moment, answer: CachedCompletion, rest: Remainder, text: str
) -> tuple[str, Verdict] | None:
    """The beginning of the first line that is sure enough by itself, where there is one."""
    tokens, shift = answer.tokens(rest.typed), server.learning.shift(moment.language)
    return gate.sure_part(moment.facts(agreed=rest.typed), first_line(text), tokens, moment.mode, shift)


def _note(answer: CachedCompletion, text: str, verdict: Verdict, memory: bool) -> str:
    """For the log: nothing of the text itself."""
    said = [f"{len(text)} characters"]
    if verdict.probability is not None:
        said.append(f"right with {verdict.probability:.0%}")
    if memory:
        said.append("from memory")
    elif answer.cost:
        said.append(f"{answer.cost['tokens']} tokens, tau {answer.cost['tau']:.2f}")
    return ", ".join(said)
