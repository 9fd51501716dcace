"""Pictures of VS Code: a suggestion, a function coming into focus, and places that should follow an edit."""

from collections.abc import Iterator
from pathlib import Path

from tests.e2e.pictures.neovim import SEARCH
from tests.e2e.texts import FEES, FINE, fines
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import editor, vsix
from tests.e2e.vscode.settings import FILL, View

LOOK = View(
    width=860,
    height=440,
    scale=1.5,
    settings={
        "breadcrumbs.enabled": False,
        "editor.fontSize": 14,
        "editor.lightbulb.enabled": "off",
        "editor.scrollbar.horizontal": "hidden",
        "editor.scrollBeyondLastLine": True,
        "editor.stickyScroll.enabled": False,
        "window.commandCenter": False,
        "workbench.activityBar.location": "hidden",
        "workbench.colorTheme": "Default Dark Modern",
        "workbench.layoutControl.enabled": False,
    },
)


def record(folder: Path, state: Path, to: Path) -> Iterator[Path]:
    """Write the pictures into `to`, running in `folder` with the engine of `state`."""
    project = folder / "project"
    project.mkdir()
    with Code(editor(), vsix(), folder / "vscode", project, state, view=LOOK) as code:
        before, after = fines()
        (project / "fines.py").write_text(before[:-1] + after)
        (project / "search.py").write_text(SEARCH)
        (project / "fees.py").write_text(FEES)
        code.show("fines.py")
        code.until(lambda: code.status()[0] == "sparkle", "the engine is ready", 180)
        code.press("Control+B")
        code.go(before.count("\n") + 1, len(FINE))
        code.type("(")
        code.wait_for_ghost()
        yield code.screenshot("vscode", to)
        code.press("Escape", "Control+Z")
        code.show("search.py")
        code.go(1, 5)
        code.press(FILL)
        code.until(lambda: "░" in (ghost := code.ghost()) and ghost.count("\n") > 2, "the canvas is shown", 120)
        yield code.screenshot("vscode-focus", to)
        code.until(lambda: "Tab keeps" in code.after(), "the function is shown", 120)
        code.press("Escape")
        code.wait_for_text(SEARCH)
        code.show("fees.py")
        code.go(1, 5)
        code.press(*["Shift+ArrowRight"] * len("late_fee"))
        code.type("overdue_fee")
        code.until(lambda: "Tab next" in code.after(), "places are shown", 60)
        yield code.screenshot("edits", to)
