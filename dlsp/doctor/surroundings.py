"""What is around: the last reasons for quiet, and the editors."""

import re
import shutil
import subprocess
from collections import Counter

from dlsp import logfile
from dlsp.doctor.check import Check
from dlsp.wording import count

LINES = 2000
EDITORS = ("nvim", "code", "codium", "code-server", "cursor", "hx", "zed", "emacs", "subl", "kak")
NO_EDITOR = "none that dlsp knows is on the PATH; any that speaks LSP will do"
NATIVE = (0, 12)
"""The Neovim that asks for inline completion by itself."""


def quiet() -> Check:
    """Counted from the server's log: reasons alone, whatever else stands there."""
    lines = logfile.tail(LINES)
    reasons = Counter(found[1] for line in lines if (found := re.search(r"\] quiet: ([^,]+)", line)))
    offered = sum("] a suggestion" in line for line in lines)
    told = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common(5))
    said = f"{count(offered, 'suggestion') if offered else 'no suggestion'} of late"
    said += f"; quiet because {told}" if told else ""
    return Check("quiet", True, said, data={"suggestions": offered, "reasons": dict(reasons)})


def editors() -> Check:
    found = {name: _version(name) for name in EDITORS if shutil.which(name)}
    said = ", ".join(f"{name} {version}".strip() for name, version in found.items()) or NO_EDITOR
    if (neovim := found.get("nvim")) and tuple(map(int, neovim.split(".")[:2])) < NATIVE:
        said += "; this Neovim needs the plugin, 0.12 does not"
    return Check("editors", True, said, data=found)


def _version(name: str) -> str:
    if name != "nvim":  # others take seconds to say
        return ""
    try:
        told = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    number = re.search(r"v(\d+\.\d+(?:\.\d+)?)", told)
    return number[1] if number else ""
