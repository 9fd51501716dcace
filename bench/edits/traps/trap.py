"""One trap, and what an answer to it is worth."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from bench.edits.rows import PatientPage
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.search.page import Page
from dlsp.edits.search.tokens import TOKEN
from dlsp.syntax import languages

Place = tuple[str, int]  # a file and an offset in its text before the edit


@dataclass(frozen=True)
class Trap:
    """In the file `path` the name `old` becomes `new` at the offset `at`: the user's edit.

    `files` are the texts before it. `partners` are the places that must follow, `decided` those of them that scopes and
    imports decide alone. `unknown` places count neither way. All other places of the name must stay.
    """

    id: str
    kind: str
    files: dict[str, str]
    path: str
    at: int
    old: str
    new: str
    partners: frozenset[Place]
    decided: frozenset[Place]
    unknown: frozenset[Place] = field(default_factory=frozenset)

    @property
    def language(self) -> str:
        found = languages.of(self.path)
        return found.name if found else PurePosixPath(self.path).suffix

    @property
    def edited(self) -> str:
        """The text of the edited file after the edit."""
        text = self.files[self.path]
        return text[: self.at] + self.new + text[self.at + len(self.old) :]

    @property
    def edit(self) -> Edit:
        return Edit.between(self.path, self.files[self.path], self.edited)

    def page(self) -> Page:
        """The edited file."""
        edit = self.edit
        return PatientPage(self.path, self.path, self.edited, languages.of(self.path), tuple(edit.ranges()))

    def others(self) -> Iterator[Page]:
        """The other files."""
        for path, text in self.files.items():
            if path != self.path:
                yield PatientPage(path, path, text, languages.of(path))

    def places(self) -> Iterator[Place]:
        """All places of the name but the edited one."""
        for path, text in self.files.items():
            for match in TOKEN.finditer(text):
                if match[0] == self.old and (path, match.start()) != (self.path, self.at):
                    yield path, match.start()

    def before(self, path: str, offset: int) -> int:
        """The offset before the edit of an offset after it."""
        return offset - (len(self.new) - len(self.old)) if path == self.path and offset > self.at else offset


@dataclass
class Outcome:
    """What was offered for a trap: places that would change, in certain sites and in others, and what of it is wrong.

    A site is wrong if it changes anything but partners.
    """

    trap: Trap
    offered: set[Place] = field(default_factory=set[Place])
    certain: int = 0
    single: int = 0
    wrong_certain: list[str] = field(default_factory=list[str])
    wrong_single: list[str] = field(default_factory=list[str])

    @property
    def wrong(self) -> list[str]:
        return self.wrong_certain + self.wrong_single

    @property
    def missing(self) -> set[Place]:
        """Partners that were not offered."""
        return set(self.trap.partners) - self.offered


def outcome(trap: Trap, found: Iterable[Proposal]) -> Outcome:
    """Judge the proposals for a trap."""
    made = Outcome(trap)
    for each in found:
        site = each.site
        changed = list(_changed(trap, site.page.path, site.page.starts[site.start], site.old, site.lines))
        made.offered |= {place for place in changed if place in trap.partners}
        allowed = trap.partners | trap.unknown
        is_wrong = not changed or any(place not in allowed for place in changed)
        told = f"{site.page.path}:{site.start + 1}: {''.join(site.old).strip()} -> {''.join(site.lines).strip()}"
        if each.certain:
            made.certain += 1
            made.wrong_certain += [told] if is_wrong else []
        else:
            made.single += 1
            made.wrong_single += [told] if is_wrong else []
    return made


def _changed(trap: Trap, path: str, start: int, old: Sequence[str], new: Sequence[str]) -> Iterator[Place]:
    """Yield the places where a site replaces the old name by the new one; nothing, or a place that is no partner, if it
    does anything else."""
    one, other = TOKEN.findall("".join(old)), TOKEN.findall("".join(new))
    if len(one) != len(other):
        yield path, -1
        return
    at = start
    for before, after in zip(one, other, strict=True):
        if before != after:
            yield path, trap.before(path, at) if (before, after) == (trap.old, trap.new) else -1
        at += len(before)


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The numbers of a group of traps."""
    partners = sum(len(each.trap.partners) for each in outcomes)
    decided = sum(len(each.trap.decided) for each in outcomes)
    single = sum(each.single for each in outcomes)
    return {
        "traps": len(outcomes),
        "partners": partners,
        "decided": decided,
        "certain": sum(each.certain for each in outcomes),
        "single": single,
        "wrong_certain": sum(len(each.wrong_certain) for each in outcomes),
        "wrong_single": sum(len(each.wrong_single) for each in outcomes),
        "wrong_single_share": sum(len(each.wrong_single) for each in outcomes) / max(1, single),
        "partners_offered": sum(len(each.trap.partners) - len(each.missing) for each in outcomes) / max(1, partners),
        "decided_offered": sum(len(each.trap.decided - each.missing) for each in outcomes) / max(1, decided),
    }
