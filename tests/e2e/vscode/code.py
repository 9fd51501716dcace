"""A real VS Code in a real browser, driven as its user would: keys in, the screen and the saved file out."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

from playwright.sync_api import Playwright, sync_playwright

from dlsp.models import store
from tests.e2e.vscode.provide import Editor

T = TypeVar("T")
WIDTH, HEIGHT = 1100, 700
SCREENS = Path(__file__).parents[3] / "build" / "screens" / "vscode"
SETTINGS = {
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "editor.autoIndent": "keep",
    "editor.cursorBlinking": "solid",
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "files.insertFinalNewline": False,
    "files.simpleDialog.enable": True,
    "git.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
SERVE = (
    *("--bind-addr", "127.0.0.1:0", "--auth", "none"),
    *("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"),
)
CLOSE, FILL, ACCEPT_LINE, FOCUS, RESTART, MENU, CURSOR_ABOVE, SNIPPET, REWRITE, CLEAR = (
    f"Control+Alt+F{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11)
)
ACCEPT_WORD = "Control+ArrowRight"
BINDINGS: list[tuple[str, str, Any]] = [
    (CLOSE, "workbench.action.revertAndCloseActiveEditor", None),
    (FILL, "dlsp.fillFunction", None),
    (ACCEPT_LINE, "editor.action.inlineSuggest.acceptNextLine", None),
    (FOCUS, "workbench.action.focusActiveEditorGroup", None),
    (RESTART, "dlsp.restart", None),
    (MENU, "editor.action.triggerSuggest", None),
    (CURSOR_ABOVE, "editor.action.insertCursorAbove", None),
    (SNIPPET, "editor.action.insertSnippet", {"snippet": "f(${1:a}, ${2:b})$0"}),
    (REWRITE, "editor.action.codeAction", {"kind": "refactor.rewrite", "apply": "first"}),
    (CLEAR, "notifications.clearAll", None),
]
GHOST = """
() => {
  const spans = [...document.querySelectorAll('.editor-group-container.active [class*="ghost-text"]')]
    .filter((each) => each.offsetParent !== null && !each.querySelector('[class*="ghost-text"]'));
  const lines = new Map();
  for (const each of spans) {
    const line = each.closest('.view-line') ?? each.parentElement;
    lines.set(line, (lines.get(line) ?? '') + each.textContent.replaceAll('\\u00a0', ' '));
  }
  const top = (line) => line.getBoundingClientRect().top;
  return [...lines].sort(([a], [b]) => top(a) - top(b)).map(([, text]) => text).join('\\n');
}
"""


class Code:
    """Use as `with Code(editor, vsix, folder, project, state) as code`.

    `folder` is for its own files, `project` the folder it opens; `state` is the state folder of dlsp. Unless `bare`,
    `dlsp` is on PATH.
    """

    def __init__(
        self, editor: Editor, vsix: Path, folder: Path, project: Path, state: Path, bare: bool = False
    ) -> None:
        self.project, self.name = project, ""
        self._number = 0
        user = folder / "user" / "User"
        user.mkdir(parents=True, exist_ok=True)
        (user / "settings.json").write_text(json.dumps(SETTINGS))
        bound = [
            {"key": key.replace("Control", "ctrl").lower(), "command": command, "args": args}
            for key, command, args in BINDINGS
        ]
        (user / "keybindings.json").write_text(json.dumps(bound))
        environment = {
            **editor.node.environment,
            "DLSP_STATE_DIR": str(state),
            "PATH": os.environ["PATH"] if bare else f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **{f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")},
            "DLSP_CACHE_DIR": str(store.folder()),
            "LANG": "C.UTF-8",
            "VSCODE_CLI": "1",  # else it takes PATH from a login shell
        }
        own = [
            "--config",
            folder / "config.yaml",
            "--user-data-dir",
            folder / "user",
            "--extensions-dir",
            folder / "ext",
        ]
        command = [editor.node.program, editor.entry, *own]
        install = [*command, "--install-extension", vsix]
        subprocess.run(install, env=environment, check=True, capture_output=True, timeout=120)
        self._log = folder / "server.log"
        with self._log.open("w") as log:
            self._server = subprocess.Popen(
                [*command, *SERVE], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        # Playwright's loop stays in a thread of its own, out of the way of others'.
        self._thread = ThreadPoolExecutor(1)
        self._playwright: Playwright | None = None
        self._editor = editor

    def __enter__(self) -> Self:
        try:
            said = self.until(lambda: re.search(r"listening on (http\S+)", self._log.read_text()), "it listens")
            self._do(lambda: self._browse(f"{said[1]}?folder={quote(str(self.project))}"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def _browse(self, address: str) -> None:
        self._playwright = sync_playwright().start()
        browser = self._playwright.chromium.launch(
            executable_path=self._editor.browser,
            args=["--no-sandbox", "--disable-gpu"],
            env={**os.environ, "LD_LIBRARY_PATH": str(self._editor.libraries)},
        )
        self.page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        self.page.set_default_timeout(40_000)
        self.page.goto(address, wait_until="commit")
        self.page.wait_for_selector(".monaco-workbench .statusbar")

    def __exit__(self, *_: object) -> None:
        if self._playwright:
            self._do(self._playwright.stop)
        self._thread.shutdown()
        os.killpg(self._server.pid, signal.SIGTERM)
        self._server.wait(20)

    def _do(self, call: Callable[[], T]) -> T:
        return self._thread.submit(call).result()

    # What a user does

    def press(self, *keys: str) -> None:
        for key in keys:
            self._do(lambda key=key: self.page.keyboard.press(key))

    def type(self, text: str) -> None:
        """Type: each character is a key of its own."""
        self._do(lambda: self.page.keyboard.type(text))

    def insert(self, text: str) -> None:
        """What an input method or a paste hands over at once."""
        self._do(lambda: self.page.keyboard.insert_text(text))

    def command(self, name: str) -> None:
        """Run a command from the palette."""
        self.press("F1")
        self._do(lambda: self.page.wait_for_selector(".quick-input-widget input"))
        self.type(name)
        row = f".quick-input-list .monaco-list-row[aria-label^={json.dumps(name)}]"
        self._do(lambda: self.page.click(row))

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
        self._do(lambda: self.page.wait_for_selector(".quick-input-widget input"))
        self.insert(str(self.project / name))
        self._do(lambda: self.page.click(f'.quick-input-list .monaco-list-row[aria-label^="{name}"]'))
        self._do(lambda: self.page.wait_for_selector(f'.tab.active[data-resource-name="{name}"]'))
        self.name = name
        self._do(lambda: self.page.wait_for_selector(".editor-group-container.active .monaco-editor.focused"))

    def go(self, line: int, column: int) -> None:
        """To a place, both from 1."""
        self.press("Control+G")
        self._do(lambda: self.page.wait_for_selector(".quick-input-widget input"))
        self.type(f"{line}:{column}")
        self.press("Enter")
        self._do(lambda: self.page.wait_for_selector(".quick-input-widget", state="hidden"))
        self._do(lambda: self.page.wait_for_selector(".editor-group-container.active .monaco-editor.focused"))

    def click_status(self) -> None:
        self._do(lambda: self.page.click('.statusbar-item[id*="dlsp"] a'))

    def clear_notifications(self) -> None:
        self.press(CLEAR)
        self.until(lambda: not self.notifications(), "there are no notifications")

    # What a user sees

    def text(self) -> str:
        """What the active editor holds, by saving it."""
        self.press("Control+S")
        self.until(lambda: not self._do(lambda: self.page.query_selector(".tab.active.dirty")), "the file is saved")
        return (self.project / self.name).read_bytes().decode()

    def ghost(self) -> str:
        """The ghost text that is drawn, its lines one under the other."""
        return self.evaluate(GHOST)

    def lines(self) -> list[str]:
        """The lines that are drawn in the editor, ghost text and decorations included."""
        script = """
        () => [...document.querySelectorAll('.editor-group-container.active .view-lines .view-line')]
          .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
          .map((each) => each.textContent.replaceAll('\\u00a0', ' '))
        """
        return self.evaluate(script)

    def after(self) -> str:
        """What decorations draw behind text."""
        script = """
        () => [...document.querySelectorAll('.editor-group-container.active .view-line [class*="ced-"]')]
          .map((each) => getComputedStyle(each, '::after').content).filter((text) => text !== 'none').join('')
        """
        return self.evaluate(script).replace('"', "").replace("\xa0", " ")

    def status(self) -> tuple[str, str]:
        """The icon's name and the sentence of the status bar item."""
        script = """
        () => {
          const item = document.querySelector('.statusbar-item[id="dlsp.dlsp.dlsp"], .statusbar-item[id*="dlsp"]');
          if (!item) return ['', ''];
          const icon = item.querySelector('.codicon');
          const classes = [...(icon?.classList ?? [])];
          const name = classes.find((each) => each.startsWith('codicon-') && !each.includes('modifier'));
          const label = item.querySelector('[aria-label]')?.ariaLabel ?? item.ariaLabel;
          return [name?.slice('codicon-'.length) ?? '', label ?? ''];
        }
        """
        icon, sentence = self.evaluate(script)
        return icon, sentence

    def notifications(self) -> list[str]:
        script = (
            "() => [...document.querySelectorAll('.notification-list-item-message')].map((each) => each.textContent)"
        )
        return self.evaluate(script)

    def picks(self) -> list[str]:
        """What the open menu offers."""
        return self._texts(".quick-input-list .label-name")

    def menu(self) -> list[str]:
        """What the open completion menu offers."""
        return self._texts(".suggest-widget.visible .monaco-list-row .label-name")

    def _texts(self, selector: str) -> list[str]:
        script = "(selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent)"
        return self._do(lambda: self.page.evaluate(script, selector))

    def screenshot(self, name: str) -> None:
        """Keep a picture."""
        SCREENS.mkdir(parents=True, exist_ok=True)
        self._do(lambda: self.page.screenshot(path=SCREENS / f"{name}.png"))

    # What a test needs

    def evaluate(self, script: str) -> Any:
        """Run a script in the page."""
        return self._do(lambda: self.page.evaluate(script))

    @property
    def pid(self) -> int:
        """The process that all others of this VS Code come from."""
        return self._server.pid

    def wait_for_ghost(self, text: str | None = None, seconds: float = 40) -> str:
        """Until there is ghost text, or this ghost text."""
        found = self.until(
            lambda: (now := self.ghost()) and (text is None or now == text) and now, "a suggestion", seconds
        )
        assert isinstance(found, str)
        return found

    def until(self, happened: Callable[[], Any], what: str, seconds: float = 40) -> Any:
        """The first true answer of `happened`."""
        deadline = time.monotonic() + seconds
        while not (answer := happened()):
            if time.monotonic() > deadline:
                raise AssertionError(f"Waited {seconds:.0f} s in vain until {what}.\n{self.report()}")
            time.sleep(0.02)
        return answer

    def report(self) -> str:
        """What the screen shows when a test fails; with a picture."""
        try:
            self.screenshot("failure")
            return "\n".join([*self.lines(), f"ghost: {self.ghost()!r}", *self.status(), *self.notifications()])
        except Exception as error:
            return f"{error}\n{self._log.read_text()[-2000:]}"
