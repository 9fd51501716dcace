"""The VS Code of the tests: its settings, and keys for commands that have none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SETTINGS = {
    # For random walks, whose model of the text knows of neither.
    "[plaintext]": {"editor.autoClosingBrackets": "never", "editor.autoIndent": "none"},
    "chat.disableAIFeatures": True,
    "dlsp.model": "0.5b",  # whatever this machine could run
    "dlsp.suggest": "eager",  # manners are tested wherever there is a suggestion, not where one is likely to be right
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
CLOSE, FILL, ACCEPT_LINE, FOCUS, INSTRUCT, RESTART, MENU, CURSOR_ABOVE, SNIPPET, REWRITE, CLEAR, HIDE = (
    f"Control+Alt+F{number}" for number in range(1, 13)
)
COMMIT, ACCEPT_PART, ACCEPT_BLOCK = (f"Control+Shift+F{number}" for number in range(1, 4))
ACCEPT_WORD = "Control+ArrowRight"
NEXT, PREVIOUS = "Alt+BracketRight", "Alt+BracketLeft"
BINDINGS: list[tuple[str, str, Any]] = [
    (CLOSE, "workbench.action.revertAndCloseActiveEditor", None),
    (FILL, "dlsp.fillFunction", None),
    (ACCEPT_LINE, "editor.action.inlineSuggest.acceptNextLine", None),
    (FOCUS, "workbench.action.focusActiveEditorGroup", None),
    (INSTRUCT, "dlsp.instruct", None),
    (COMMIT, "editor.action.inlineSuggest.commit", None),
    (ACCEPT_PART, "dlsp.acceptPart", None),
    (ACCEPT_BLOCK, "dlsp.acceptBlock", None),
    (RESTART, "dlsp.restart", None),
    (MENU, "editor.action.triggerSuggest", None),
    (CURSOR_ABOVE, "editor.action.insertCursorAbove", None),
    (SNIPPET, "editor.action.insertSnippet", {"snippet": "f(${1:a}, ${2:b})$0"}),
    (REWRITE, "editor.action.codeAction", {"kind": "refactor.rewrite", "apply": "first"}),
    (CLEAR, "notifications.clearAll", None),
    (HIDE, "editor.action.inlineSuggest.hide", None),
]


@dataclass(frozen=True)
class View:
    """The page in pixels, how many pixels of a picture one of them is, and settings besides those above."""

    width: int = 1100
    height: int = 700
    scale: float = 1
    settings: Mapping[str, Any] = field(default_factory=dict)


def write(user: Path, more: Mapping[str, Any]) -> None:
    """Make the settings, and `more`, those of the user's folder `user`."""
    user.mkdir(parents=True, exist_ok=True)
    (user / "settings.json").write_text(json.dumps({**SETTINGS, **more}))
    bound = [
        {"key": key.replace("Control", "ctrl").lower(), "command": command, "args": args}
        for key, command, args in BINDINGS
    ]
    (user / "keybindings.json").write_text(json.dumps(bound))
