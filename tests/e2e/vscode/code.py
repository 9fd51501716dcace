"""A real VS Code in a real browser, driven as its user would: keys in, the screen and the saved file out."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.e2e.vscode import settings
from tests.e2e.vscode.browser import Browser
from tests.e2e.vscode.look import ACTIVE, AFTER, GHOST, LINES, STATUS, TEXTS
from tests.e2e.vscode.provide import Editor
from tests.e2e.vscode.serve import Served, environment
from tests.e2e.vscode.settings import CLEAR, CLOSE, FOCUS, View
from tests.e2e.waiting import EVERY_S, until

SCREENS = Path(__file__).parents[3] / "build" / "screens" / "vscode"
SAVE_S = 5.0  # far more than a save takes
INPUT = ".quick-input-widget input"
ROW = ".quick-input-list .monaco-list-row"
FOCUSED = ".editor-group-container.active .monaco-editor.focused"


class Code:
    """Use as `with Code(editor, vsix, folder, project, state) as code`.

    `folder` is for its own files, `project` the folder it opens; `state` is the state folder of dlsp, or the whole
    environment. Unless `bare`, `dlsp` is on PATH. `others` are packages of further extensions.
    """

    def __init__(
        self,
        editor: Editor,
        vsix: Path,
        folder: Path,
        project: Path,
        state: Path | Mapping[str, str],
        bare: bool = False,
        view: View | None = None,
        others: Sequence[Path] = (),
    ) -> None:
        self.project, self.name = project, ""
        self._number = 0
        view = view or View()
        settings.write(folder / "user" / "User", view.settings)
        own = environment(editor, folder, state, bare) if isinstance(state, Path) else state
        self._served = Served(editor, [vsix, *others], folder, own)
        self.browser = Browser(editor, view)

    def __enter__(self) -> Self:
        try:
            self.browser.open(self._served.address(self.project), ".monaco-workbench .statusbar")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self._served.end()

    # What a user does

    def press(self, *keys: str) -> None:
        for key in keys:
            self.browser.do(lambda page, key=key: page.keyboard.press(key))

    def type(self, text: str) -> None:
        """Type: each character is a key of its own."""
        self.browser.do(lambda page: page.keyboard.type(text))

    def insert(self, text: str) -> None:
        """What an input method or a paste hands over at once."""
        self.browser.do(lambda page: page.keyboard.insert_text(text))

    def command(self, name: str) -> None:
        """Run a command from the palette."""
        self.press("F1")
        self.browser.wait_for(INPUT)
        self.type(name)
        self.browser.do(lambda page: page.click(f"{ROW}[aria-label^={json.dumps(name)}]"))

    def open(self, text: str, name: str = "sum.py", alone: bool = True) -> str:
        """Open a new file, by default in the stead of the open one, the cursor at its end; the name it got."""
        self._number += 1
        name = f"{self._number}-{name}"
        (self.project / name).write_bytes(text.encode())
        self.press(FOCUS, *([CLOSE] if alone else []))
        self.show(name)
        self.press("Control+End")
        return name

    def show(self, name: str) -> None:
        """Go to a file."""
        self.press("Control+P")
        self.browser.wait_for(INPUT)
        self.insert(str(self.project / name))
        last = Path(name).name
        self.browser.do(lambda page: page.click(f'{ROW}[aria-label^="{last}"]'))
        self.browser.wait_for(f'.tab.active[data-resource-name="{last}"]')
        self.name = name
        self.browser.wait_for(FOCUSED)

    def go(self, line: int, column: int) -> None:
        """To a place, both from 1."""
        self.press("Control+G")
        self.browser.wait_for(INPUT)
        self.type(f"{line}:{column}")
        self.press("Enter")
        self.browser.wait_for(".quick-input-widget", hidden=True)
        self.browser.wait_for(FOCUSED)

    def click_status(self) -> None:
        self.browser.do(lambda page: page.click('.statusbar-item[id*="dlsp"] a'))

    def configure(self, wanted: Mapping[str, Any]) -> None:
        """Have these settings for the folder, written in VS Code itself: this one watches no files."""
        before, file = self.name, self.project / ".vscode/settings.json"
        file.parent.mkdir(exist_ok=True)
        file.touch()
        self.show(str(file.relative_to(self.project)))
        self.press("Control+A")
        self.insert(json.dumps(wanted))
        self.text()
        self.press(CLOSE)
        self.show(before)

    def clear_notifications(self) -> None:
        self.press(CLEAR)
        self.until(lambda: not self.notifications(), "there are no notifications")

    # What a user sees

    def text(self) -> str:
        """What the active editor holds, by saving it if it has changed: of an unchanged one no end would be seen."""
        self.until(self._saved, "it is saved")
        return (self.project / self.name).read_bytes().decode()

    def ghost(self) -> str:
        """The ghost text that is drawn, its lines one under the other."""
        return self.browser.evaluate(GHOST)

    def lines(self) -> list[str]:
        """The lines that are drawn in the editor, ghost text and decorations included."""
        return self.browser.evaluate(LINES)

    def after(self) -> str:
        """What decorations draw behind text."""
        return self.browser.evaluate(AFTER).replace('"', "").replace("\xa0", " ")

    def status(self) -> tuple[str, str]:
        """The icon's name and the sentence of the status bar item."""
        icon, sentence = self.browser.evaluate(STATUS)
        return icon, sentence

    def active(self) -> str:
        """The name of the file that is shown."""
        return self.browser.evaluate(ACTIVE)

    def notifications(self) -> list[str]:
        return self.browser.evaluate(TEXTS, ".notification-list-item-message")

    def picks(self) -> list[str]:
        """What the open menu offers."""
        return self.browser.evaluate(TEXTS, ".quick-input-list .label-name")

    def menu(self) -> list[str]:
        """What the open completion menu offers."""
        return self.browser.evaluate(TEXTS, ".suggest-widget.visible .monaco-list-row .label-name")

    def screenshot(self, name: str, folder: Path = SCREENS) -> Path:
        """Keep a picture."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.png"
        self.browser.do(lambda page: page.screenshot(path=path))
        return path

    # What a test needs

    @property
    def pid(self) -> int:
        """The process that all others of this VS Code come from."""
        return self._served.pid

    def wait_for_ghost(self, text: str | None = None, seconds: float = 40) -> str:
        """Until there is ghost text, or this ghost text."""
        return self.until(
            lambda: (now := self.ghost()) and (text is None or now == text) and now, "a suggestion", seconds
        )

    def wait_for_text(self, text: str) -> None:
        """Until the active editor holds this: what the extension writes comes some time after the key for it."""
        self.until(lambda: self.text() == text, f"this is held: {text!r}")

    def until(self, happened: Callable[[], Any], what: str, seconds: float = 40) -> Any:
        """The first true answer of `happened`."""
        return until(happened, what, seconds, self.report)

    def report(self) -> str:
        """What the screen shows when a test fails; with a picture."""
        try:
            self.screenshot("failure")
            return "\n".join([*self.lines(), f"ghost: {self.ghost()!r}", *self.status(), *self.notifications()])
        except Exception as error:
            return f"{error}\n{self._served.log()}"

    def _saved(self) -> bool:
        """Whether nothing is unsaved, after the key for it; what was edited while a save was under way takes another.

        One key at a time: a save that is not needed any more empties the file for a moment too.
        """
        if self._dirty():
            self.press("Control+S")
            pressed = time.monotonic()
            while self._dirty() and time.monotonic() - pressed < SAVE_S:
                time.sleep(EVERY_S)
        return not self._dirty()

    def _dirty(self) -> bool:
        return self.browser.do(lambda page: page.query_selector(".tab.active.dirty")) is not None
