"""Next edits as a client asks for them, and how the chat model is asked to write a region anew."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from dlsp.api.answer import Answer, Options
from dlsp.api.generator import Chat, Generator

DEFAULT_MAX_TOKENS = 8192
# A rewritten region of fewer lines than this share of it, or of so many more, is taken for a mistake of the model.
MIN_KEPT, MAX_MORE_LINES = 0.5, 20
# What the model reads of a large file, of how many others and of each of these, and of the changes.
MAX_BEFORE_CHARACTERS, MAX_AFTER_CHARACTERS = 8000, 4000
MAX_SNIPPETS, MAX_SNIPPET_CHARACTERS, MAX_CHANGES_CHARACTERS = 5, 2000, 6000

SYSTEM = (
    "You edit code. You are given the user's last changes and a part of a file. Write the part again as the user will "
    "want it: carry the changes on, fix what they broke, and change nothing else. Answer with the part alone, in one "
    "fence."
)
_FENCE = re.compile(r"```[^\n`]*\n(.*)\n?```", re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """A region of a file that may have to change: the file is `before`, `region` and `after`, as far as a client shows
    it. `changes` are diffs, the last one last; `snippets` paths and texts of other files."""

    path: str
    before: str
    region: str
    after: str
    changes: str
    snippets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class EditPrompt:
    """The edit that a prompt asks for. `reply` makes the text that its client expects of the new region."""

    edit: Edit
    reply: Callable[[str], str]


async def asked(generator: Generator, system: str, prompt: str, options: Options) -> Answer:
    """The chat model's answer to one message. Raises what the engine's client raises."""
    messages = ({"role": "system", "content": system}, {"role": "user", "content": prompt})
    (answer,) = await generator.answers(Chat(messages), options)
    return answer


def rewritten(region: str, answer: Answer) -> str:
    """The region as the model wrote it; as it was where that is cut off, empty, or too unlike it in size. If the model
    left out the indentation that all lines had, they get it back, and so do blank lines at either end."""
    new, old_lines = bare(answer.text), region.strip("\n").split("\n")
    lines = new.split("\n")
    kept = MIN_KEPT * len(old_lines) <= len(lines) <= len(old_lines) + MAX_MORE_LINES
    if answer.reason == "length" or not new.strip() or not kept:
        return region
    dedented = textwrap.dedent(region)
    lost = _margin(region).removesuffix(_margin(dedented))
    written = textwrap.indent(new, lost) if _margin(new) == _margin(dedented) else new
    above, below = len(region) - len(region.lstrip("\n")), len(region) - len(region.rstrip("\n"))
    return "\n" * above + written + "\n" * below


def bare(text: str) -> str:
    """The code in an answer, without its fence and the line end at its end."""
    found = _FENCE.search(text)
    return (found[1] if found else text).strip("\n")


def _margin(text: str) -> str:
    """The white space that its first line begins with."""
    line = text.lstrip("\n").split("\n", 1)[0]
    return line[: len(line) - len(line.lstrip())]


def prompt_of(edit: Edit) -> str:
    """What the chat model is asked about a region."""
    snippets = [(path, text.strip()) for path, text in edit.snippets if text.strip()][:MAX_SNIPPETS]
    snippets = [(path, text[:MAX_SNIPPET_CHARACTERS]) for path, text in snippets]
    others = "".join(f"From {path}:\n```\n{text}\n```\n\n" for path, text in snippets)
    before, after = edit.before[-MAX_BEFORE_CHARACTERS:], edit.after[:MAX_AFTER_CHARACTERS]
    changes = edit.changes[-MAX_CHANGES_CHARACTERS:]
    return (
        f"{others}The file {edit.path} before the part:\n```\n{before}\n```\n\nThe file after the part:\n```\n"
        f"{after}\n```\n\nThe user's last changes:\n```diff\n{changes}\n```\n\nThe part:\n```\n"
        f"{edit.region}\n```\n\nWrite the part again."
    )
