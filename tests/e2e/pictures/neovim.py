"""Pictures of Neovim: a suggestion, and a function coming into focus."""

from collections.abc import Iterator
from pathlib import Path

from tests.e2e.neovim.neovim import Neovim
from tests.e2e.neovim.provide import nvim
from tests.e2e.pictures.svg import Frame, frame, picture
from tests.e2e.texts import FINE, fines
from tests.e2e.waiting import until

COLUMNS, ROWS = 84, 16
LOOK = """
vim.o.laststatus, vim.o.ruler, vim.o.showmode, vim.o.showcmd = 0, false, false, false
vim.o.fillchars, vim.o.shortmess = "eob: ", vim.o.shortmess .. "F"
"""
SEARCH = '''def binary_search(items: list[int], target: int) -> int:
    """The index of target in the sorted items, -1 if it is not there."""
    ...
'''


def record(folder: Path, state: Path, to: Path) -> Iterator[Path]:
    """Write the pictures into `to`, running in `folder` with the engine of `state`."""
    project = folder / "lending"
    (project / ".git").mkdir(parents=True)
    file = project / "fines.py"
    with Neovim(nvim("0.12"), folder / "neovim", file, state, LOOK, (COLUMNS, ROWS + 1)) as vim:
        vim.wait_for_server()
        yield _ghost(vim, file, to / "neovim.svg")
        yield _focus(vim, project / "search.py", to / "focus.svg")


def _ghost(vim: Neovim, file: Path, to: Path) -> Path:
    before, after = fines()
    vim.open(file, before + after)
    vim.go(before.count("\n") + 1, len(FINE) - 1)
    vim.keys("zbkkkzbjjja")
    vim.insist_on_ghost()
    vim.command("redraw")
    to.write_text(picture([(0, frame(vim.drawn, ROWS))], vim.drawn, COLUMNS))
    return to


def _focus(vim: Neovim, file: Path, to: Path) -> Path:
    vim.open(file, SEARCH)
    vim.keys("ggw")
    frames: list[tuple[float, Frame]] = []

    def drawn(at: float) -> None:
        now = frame(vim.drawn, ROWS)
        if not frames or frames[-1][1] != now:
            frames.append((at, now))

    vim.drawn.drawn = drawn
    vim.command("redraw!")
    vim.keys("<Plug>(dlsp-fill)")
    ready = "return require('dlsp.preview').ready()"
    until(lambda: vim.lua(ready), "the function is shown", 120, vim.report)
    vim.command("redraw")
    vim.keys("<Tab>")
    vim.command("redraw")
    vim.drawn.drawn = lambda at: None
    to.write_text(picture(frames, vim.drawn, COLUMNS))
    return to
