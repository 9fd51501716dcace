"""Prompts that clients template themselves with a model family's fill-in-the-middle tokens, taken apart again.

Clients choose such a template by the model's name or by a setting. The engine makes its own prompt, so the text before
and after the cursor, the other files and the path are cut out of theirs.
"""

import re
from dataclasses import dataclass

from dlsp.api.completer import File, Gap


@dataclass(frozen=True)
class Family:
    """The marker texts of one family. `middle` may be absent where the prefix comes last; `file` begins another file's
    path, and `repository` the repository's name."""

    prefix: str
    suffix: str
    middle: str
    file: tuple[str, ...] = ()
    repository: tuple[str, ...] = ()


FAMILIES = (
    # Qwen2.5-Coder, and CodeGemma with its own separator
    Family(
        "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", ("<|file_sep|>", "<|file_separator|>"), ("<|repo_name|>",)
    ),
    # StarCoder 1 and 2, Stable Code, Granite
    Family("<fim_prefix>", "<fim_suffix>", "<fim_middle>", ("<file_sep>", "<filename>"), ("<repo_name>", "<reponame>")),
    Family("<PRE> ", " <SUF>", " <MID>"),  # CodeLlama: the blanks belong to the markers
    Family("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek-Coder
    Family("[PREFIX]", "[SUFFIX]", "[MIDDLE]"),  # Codestral
    Family("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", ("<filename>",)),  # Seed-Coder
    Family("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),  # GLM
)
# Continue writes other files for Codestral into the prefix, each headed by this and its path.
CODESTRAL_FILE = re.compile(r"(?:^|\n\n)\+{5} ([^\n]+)\n")


def parse(prompt: str) -> Gap | None:
    """The gap that a templated prompt describes; None if it has no family's markers in an order that one uses."""
    return next((gap for family in FAMILIES if (gap := _parse(prompt, family))), None)


# How the control tokens of the models' family look, those of chats among them.
CONTROL = re.compile(r"<\|[a-z_]+\|>")


def special(text: str) -> bool:
    """Whether `text` is a marker, which no answer contains."""
    return text in _SPECIAL or bool(CONTROL.fullmatch(text))


_SPECIAL = {
    marker
    for family in FAMILIES
    for marker in (family.prefix, family.suffix, family.middle, *family.file, *family.repository)
} | {"<|endoftext|>", "</s>", "<EOT>", "<｜end▁of▁sentence｜>"}


def _parse(prompt: str, family: Family) -> Gap | None:
    at_prefix, at_suffix = prompt.find(family.prefix), prompt.find(family.suffix)
    at_middle = prompt.rfind(family.middle)
    if at_prefix < 0 or at_suffix < 0:
        return None
    behind = max(at_prefix + len(family.prefix), at_suffix + len(family.suffix))
    if at_middle >= 0 and at_middle < behind:
        return None
    if at_prefix < at_suffix:
        if at_middle < 0:
            return None
        before = prompt[at_prefix + len(family.prefix) : at_suffix]
        after = prompt[at_suffix + len(family.suffix) : at_middle]
    else:
        after = prompt[at_suffix + len(family.suffix) : at_prefix]
        before = prompt[at_prefix + len(family.prefix) : at_middle if at_middle >= 0 else len(prompt)]
    typed = prompt[at_middle + len(family.middle) :] if at_middle >= 0 else ""
    if before.startswith(" ") and before.endswith(" ") and after.endswith(" "):  # ProxyAI puts blanks around markers
        before, after = before[1:-1], after[:-1]
    head, files, path = _files(prompt[: min(at_prefix, at_suffix)], family)
    if family.prefix == "[PREFIX]":
        before, files, path = _codestral(before)
    return Gap(head + before + typed, after, path, files)


def _files(head: str, family: Family) -> tuple[str, tuple[File, ...], str | None]:
    """What stands before the first marker: text that belongs to no file, the other files, and the gap's own path."""
    for marker in family.repository:
        head = re.sub(rf"{re.escape(marker)}[^\n]*\n?", "", head)
    if not family.file:
        return head, (), None
    text, *chunks = re.split("|".join(re.escape(marker) for marker in family.file), head)
    named = [chunk.lstrip("\n").partition("\n") for chunk in chunks]
    files = tuple(File(path.strip(), content.rstrip("\n") + "\n") for path, _, content in named if content.strip())
    last = named[-1] if named else ("", "", "")
    return text, files, (last[0].strip() or None) if not last[2].strip() else None


def _codestral(before: str) -> tuple[str, tuple[File, ...], str | None]:
    found = list(CODESTRAL_FILE.finditer(before))
    if not found or found[0].start() > 0:
        return before, (), None
    ends = [each.start() for each in found[1:]]
    files = tuple(
        File(each[1].strip(), before[each.end() : end] + "\n") for each, end in zip(found, ends, strict=False)
    )
    return before[found[-1].end() :], files, found[-1][1].strip()
