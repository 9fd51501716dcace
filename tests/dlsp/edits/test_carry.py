"""The sites of a workspace's last edit, as they are kept."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from dlsp.edits.carry import Carry
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.history import MAX_STEPS, History
from dlsp.edits.rank.proposals import Proposal, learned
from dlsp.edits.search.page import Page
from dlsp.syntax import languages

URI = "file:///a.py"


async def found(carry: Carry) -> list[Any]:
    step = carry.history.last
    assert step
    edit = Edit.between("a.py", step.before, step.after)
    own = Page(URI, "a.py", step.after, languages.of("a.py"), tuple(edit.ranges()))

    async def propose(edit: Edit, own: Page, pages: Sequence[Page]) -> AsyncGenerator[Proposal]:
        for each in learned(edit, own, pages):
            yield each

    async def pages(edit: Edit) -> list[Page]:
        return [own]

    return [offer async for offer in carry.ask(propose, own, edit, pages)]


async def test_what_was_dismissed_is_forgotten_with_its_edit() -> None:
    now = 0.0
    carry = Carry(History(clock=lambda: now))
    text = "def fee0(days):\n    return days\n\n\nprint(fee0(1))\n"
    carry.history.opened(URI, text)
    for number in range(2 * MAX_STEPS):
        now += 100
        text = text.replace(f"def fee{number}(", f"def fee{number + 1}(")
        carry.changed(URI, text)
        assert len(await found(carry)) == 1
        carry.dismiss()
        assert await found(carry) == [], "it is not offered for this edit again"
        now += 100
        text = text.replace(f"print(fee{number}(", f"print(fee{number + 1}(")
        carry.changed(URI, text)
    assert len(carry._dismissed) <= MAX_STEPS
