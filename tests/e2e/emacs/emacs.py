"""A real Emacs in a terminal, with eglot and Company: keys in, the screen and the saved file out."""

import os
import sys
from pathlib import Path
from typing import Self

from tests.e2e.emacs.provide import command, environment
from tests.e2e.terminal import Terminal

ENTER, CTRL_X, CTRL_S, META = "\r", "\x18", "\x13", "\x1b"
COMPLETE, TOP, END, UNDO = META + "\t", META + "<", META + ">", "\x1f"
INIT = """
(setq auto-save-default nil make-backup-files nil inhibit-startup-screen t)
(setq-default indent-tabs-mode nil)
(require 'company)
(global-company-mode)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '(python-mode . ("dlsp" "serve" "--stdio" :initializationOptions (:suggest "eager" :model "0.5b")))))
(add-hook 'python-mode-hook 'eglot-ensure)
"""


class Emacs(Terminal):
    """Use as `with Emacs(root, folder, file, state) as emacs`; it starts at the end of `file`.

    `folder` is for its own files; `state` is the state folder of dlsp.
    """

    def __init__(self, root: Path, folder: Path, file: Path, state: Path) -> None:
        own = folder / "emacs"
        own.mkdir(parents=True)
        (own / "init.el").write_text(INIT)
        self._file = file
        known = {
            **os.environ,
            **environment(root),
            "HOME": str(folder),
            "DLSP_STATE_DIR": str(state),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        super().__init__([*command(root), f"--init-directory={own}", file], file.parent, known)

    def __enter__(self) -> Self:
        self.until_shown(self._file.name)
        self.keys(END)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, name: str) -> None:
        """A command, by its name."""
        self.keys(META + "x" + name + ENTER)

    def saved(self) -> str:
        """The text, as Emacs writes it."""
        self._file.unlink()
        self.keys(CTRL_X + CTRL_S)
        self.until(self._file.exists, "the file is saved")
        return self._file.read_text()
