"""Checks around dlsp: recent skip reasons, and installed editors."""

import re
import shutil
import subprocess

from dlsp.completions import decisions
from dlsp.doctor import last
from dlsp.doctor.check import Check
from dlsp.wording import count

LAST_DECISIONS = 2000
EDITORS = ("nvim", "code", "codium", "code-server", "cursor", "hx", "zed", "emacs", "subl", "kak")
NO_EDITOR = "none that dlsp knows is on the PATH; any that speaks LSP will do"
# The first Neovim version with built-in inline completion.
NATIVE_NEOVIM = (0, 12)


def quiet() -> Check:
    """How often an editor got a suggestion recently, and why not, from the decision log."""
    kept = decisions.last(LAST_DECISIONS)
    found = last.reasons(kept)
    offered = sum(not each.get("quiet") for each in kept)
    reasons = ", ".join(f"{last.said(reason)} ({times})" for reason, times in list(found.items())[:5])
    said = f"{count(offered, 'suggestion') if offered else 'no suggestion'} of late"
    said += f"; quiet because {reasons}" if reasons else ""
    return Check("quiet", True, said, data={"suggestions": offered, "reasons": found})


def editors() -> Check:
    """The editors on the PATH that dlsp knows."""
    found = {name: _version(name) for name in EDITORS if shutil.which(name)}
    said = ", ".join(f"{name} {version}".strip() for name, version in found.items()) or NO_EDITOR
    if (neovim := found.get("nvim")) and tuple(map(int, neovim.split(".")[:2])) < NATIVE_NEOVIM:
        said += "; this Neovim needs the plugin, 0.12 does not"
    return Check("editors", True, said, data=found)


def _version(name: str) -> str:
    if name != "nvim":  # the others take seconds to report their version
        return ""
    try:
        output = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    number = re.search(r"v(\d+\.\d+(?:\.\d+)?)", output)
    return number[1] if number else ""
