"""Prompts that clients write for models of next edits, taken apart: Zeta's of Zed (1, 2 and 2.1), Sweep's, Continue's
Instinct's and minuet's Duet's. Each asks for a region of a file anew, in a form of its own.
"""

import re
from collections.abc import Sequence

from dlsp.api.edits import Edit, EditPrompt
from dlsp.syntax.difference import difference

ZETA_START, ZETA_END = "<|editable_region_start|>", "<|editable_region_end|>"
DUET_START, DUET_END, DUET_CURSOR = "<editable_region>", "</editable_region>", "<cursor_position/>"
CURSORS = ("<|user_cursor_is_here|>", "<|user_cursor|>", "<|cursor|>", DUET_CURSOR)
SWEEP_FILE, SEED_FILE = "<|file_sep|>", "<filename>"
SEED_SUFFIX, SEED_PREFIX, SEED_MIDDLE = "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"
CURRENT, PARTED, UPDATED = "<<<<<<< CURRENT\n", "=======\n", ">>>>>>> UPDATED\n"
SEED_END = "<[end▁of▁sentence]>"
_MARKER = re.compile(r"<\|marker_(\d+)\|>\n?")
# In Zeta's and Instinct's prompts: the file's text, the edits before it, and the heads of the files that they show.
_EXCERPT = re.compile(r"### User Excerpt:\s*(.*?)(?=\n### Response:|\Z)", re.DOTALL)
_EDITS = re.compile(r"### User Edits:\s*(.*?)(?=\n### |\Z)", re.DOTALL)
_CONTEXT_FILE = re.compile(r"<\|context_file\|>:?[ \t]*([^\n]*)\n(?:<\|snippet\|>[ \t]*\n?)?")
_TOP = re.compile(r"<\|start_of_file\|>\n?")
_FENCE_LINE = re.compile(r"^```[^\n]*\n?", re.MULTILINE)
_LINES_OF_PATH = re.compile(r"(?:\.diff|:\d+:\d+)\Z")
# The head of each edit in Zeta's, Instinct's and Duet's prompts, and in Duet's the diff below it.
_EDITED = re.compile(r"(?=^User edited )", re.MULTILINE)
_EDITED_DIFF = re.compile(r'User edited "[^\n]*\n+(?:```diff\n)?(?:[@+ -][^\n]*\n)+(?:```\n)?')


def of_prompt(prompt: str) -> EditPrompt | None:
    """The edit of a prompt for a model that completes text; None if it has no such form."""
    if ZETA_START in prompt and "### User Excerpt:" in prompt:
        return _zeta(prompt, wrapped=True)
    if prompt.startswith(SEED_SUFFIX) and SEED_PREFIX in prompt and SEED_MIDDLE in prompt:
        return _zeta_2(prompt)
    if f"{SWEEP_FILE}updated/" in prompt and f"{SWEEP_FILE}current/" in prompt:
        return _sweep(prompt)
    return None


def of_message(message: str) -> EditPrompt | None:
    """The edit of a message for a model that chats; None if it has no such form."""
    if ZETA_START in message and "### User Excerpt:" in message:
        return _zeta(message, wrapped=False)
    if DUET_START in message and DUET_END in message:
        return _duet(message)
    return None


def without_cursor(text: str) -> str:
    for cursor in CURSORS:
        text = text.replace(cursor, "")
    return text


def _zeta(prompt: str, wrapped: bool) -> EditPrompt | None:
    """Zeta 1's, whose answer is the region between its marks; Instinct's, whose answer is the bare region, and whose
    last edit comes first."""
    excerpt, edited = _EXCERPT.search(prompt), _EDITS.search(prompt)
    if not excerpt or ZETA_END not in excerpt[1]:
        return None
    named, _, rest = excerpt[1].partition("\n")
    path = named.strip().removeprefix("```").strip().strip('"')
    before, _, rest = rest.partition(ZETA_START)
    region, _, after = rest.partition(ZETA_END)
    before, after = (_TOP.sub("", _FENCE_LINE.sub("", each)) for each in (before, after))
    region = without_cursor(region).removeprefix("\n").removesuffix("\n")
    heads = list(_CONTEXT_FILE.finditer(prompt, 0, excerpt.start()))
    ends = [*(each.start() for each in heads[1:]), edited.start() if edited else excerpt.start()]
    snippets = tuple((each[1].strip(), prompt[each.end() : end]) for each, end in zip(heads, ends, strict=False))
    changes = edited[1].strip() if edited else ""
    if not wrapped:
        changes = "\n".join(each.strip() for each in reversed(_EDITED.split(changes)))
    edit = Edit(path, before, region, after, changes, snippets)
    return EditPrompt(edit, (lambda new: f"{ZETA_START}\n{new}\n{ZETA_END}") if wrapped else (lambda new: new))


def _zeta_2(prompt: str) -> EditPrompt | None:
    """Zeta 2's, whose answer is the region with a mark of conflicts behind it, or the word for no edits; Zeta 2.1's,
    whose regions have numbered marks: the answer goes from the first to the last."""
    after, _, rest = prompt.removeprefix(SEED_SUFFIX).partition(SEED_PREFIX)
    files = [each.partition("\n") for each in rest.rpartition(SEED_MIDDLE)[0].split(SEED_FILE)[1:]]
    if not files:
        return None
    path, _, text = files[-1]
    changes = "".join(each for name, _, each in files[:-1] if name.strip() == "edit_history")
    snippets = tuple((name.strip(), each) for name, _, each in files[:-1] if name.strip() != "edit_history")
    marks = list(_MARKER.finditer(text))
    if CURRENT in text:
        before, _, rest = text.partition(CURRENT)
        region = rest.rpartition(PARTED)[0]
    elif len(marks) > 1:
        before, region = text[: marks[0].start()], _MARKER.sub("", text[marks[0].end() : marks[-1].start()])
        after = text[marks[-1].end() :] + after
    else:
        return None
    region = without_cursor(region)
    if region.endswith("\n"):
        region, after = region[:-1], "\n" + after

    def conflict(new: str) -> str:
        return f"NO_EDITS\n{UPDATED}" if new == region else f"{new}\n{UPDATED}"

    def numbered(new: str) -> str:
        first, last = (f"<|marker_{mark[1]}|>" for mark in (marks[0], marks[-1]))
        return f"{first}\n{first}{SEED_END}" if new == region else f"{first}\n{new}\n{last}{SEED_END}"

    edit = Edit(path.strip(), before, region, after, changes, snippets)
    return EditPrompt(edit, conflict if CURRENT in text else numbered)


def _sweep(prompt: str) -> EditPrompt | None:
    """Sweep's, which may have begun the answer: what comes back goes on from there."""
    *parts, (last, _, begun) = [each.partition("\n") for each in prompt.split(SWEEP_FILE)[1:]]
    current = next((text for name, _, text in reversed(parts) if name.startswith("current/")), None)
    if current is None or not last.startswith("updated/"):
        return None
    region = without_cursor(current).removesuffix("\n")
    changes, snippets, original = "", list[tuple[str, str]](), ""
    for name, _, text in parts:
        if text.startswith("original:\n") and "\nupdated:\n" in text:
            old, _, new = text.removeprefix("original:\n").partition("\nupdated:\n")
            changes += f"--- a/{_path(name)}\n+++ b/{_path(name)}\n@@ @@\n"
            changes += "".join(f"-{line}\n" for line in old.splitlines())
            changes += "".join(f"+{line}\n" for line in new.splitlines())
        elif name.startswith("original/"):
            original = without_cursor(text)
        elif not name.startswith("current/"):
            snippets.append((_path(name), without_cursor(text)))

    def rest(new: str) -> str:
        if new.startswith(begun):
            return new[len(begun) :]
        return "\n".join(region.split("\n")[begun.count("\n") :])  # as it is below what is begun

    path = _path(last.removeprefix("updated/"))
    before, after = _around(original, [text for name, text in snippets if name == path])
    return EditPrompt(Edit(path, before, region, after, changes, tuple(reversed(snippets))), rest)


def _path(name: str) -> str:
    return _LINES_OF_PATH.sub("", name.strip())


def _around(original: str, texts: Sequence[str]) -> tuple[str, str]:
    """What stands before and after the region in the last text of its file, which shows it as it was."""
    found = texts[-1].partition(original.removesuffix("\n")) if texts and original.strip() else ("", "", "")
    return (found[0], found[2]) if found[1] else ("", "")


def _duet(message: str) -> EditPrompt:
    """Duet's, whose answer is the region between its marks, with the cursor at the end of what is new."""
    shown, _, rest = message.partition(DUET_START)
    edited = list(_EDITED_DIFF.finditer(shown))
    before = shown[edited[-1].end() :] if edited else shown
    marked, _, after = rest.partition(DUET_END)
    region = without_cursor(marked).removeprefix("\n").removesuffix("\n")
    at = marked.removeprefix("\n").find(DUET_CURSOR)

    def wrapped(new: str) -> str:
        cursor = max(0, at) if new == region else difference(region, new)[2]
        return f"{DUET_START}\n{new[:cursor]}{DUET_CURSOR}{new[cursor:]}\n{DUET_END}"

    return EditPrompt(Edit("", before, region, after, "".join(each[0] for each in edited)), wrapped)
