"""Sites of an argument or parameter that the edit added or took away: the other calls of the function, and its
definition."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dlsp.edits.history.edit import Edit
from dlsp.edits.search.calls import Parts, Place, character, lists, places
from dlsp.edits.search.page import Page, Site, in_time
from dlsp.syntax.scopes.names import Names
from dlsp.syntax.source import encoded

# Log odds of a call that no longer fits the definition: where it certainly calls the function, and where it may. The
# latter are only shown if the model agrees.
NEEDED_ODDS, DOUBTED_ODDS = 2.0, -0.5
# Log odds of a call that a language server reports, by `python -m bench.edits.reported`: 41 of 49 are right.
REPORTED_ODDS = 1.6
# What servers say of a call that does not fit its function.
OF_ARGUMENTS = re.compile(r"\b(?:arguments?|parameters?)\b", re.IGNORECASE)
# Log odds of the other calls of a function that is not defined in sight, measured on the training edits.
ELSEWHERE_ODDS = -1.2
# Parameters that need no argument, and arguments that stand for any number of them; by parts of the node's type.
_OPTIONAL = ("default", "optional", "splat", "variadic", "rest", "spread")
_MANY = ("splat", "spread", "variadic")
# Language families in which a parameter needs no type.
_UNTYPED = ("python", "javascript")


@dataclass(frozen=True)
class Changed:
    """The edit gave the function `name` one argument more, or one less: `text`, its number `index`, from 0.

    `count` is the larger number of arguments. `keyword` is the argument's name if it is given by its name only, else
    "". `is_call`: a call was edited, and the definition was not. `is_added`: there is one argument more.
    """

    name: str
    index: int
    count: int
    text: str
    keyword: str
    is_call: bool
    is_added: bool


def changed(edit: Edit, own: Page, until: float = math.inf) -> list[Changed]:
    """The arguments and parameters that the edit added or took away. What a call was given counts more than a
    parameter's name."""
    source = own.new_source() if own.language and own.language.has_definitions else None
    tree = source.update(edit.text) if source else None
    now = own.source.update(own.text) if own.source else None
    if source is None or tree is None or now is None or own.source is None or own.names is None:
        return []
    found: dict[str, Changed] = {}
    names = own.names, Names(source, edit.text)
    for hunk, (first, last) in zip(edit.hunks, own.edited, strict=True):
        start, end = len(encoded("".join(edit.before[: hunk.start]))), len(encoded("".join(edit.before[: hunk.end])))
        old = list(lists(tree.root_node, source.bytes, start, end))
        start, end = (len(encoded(own.text[: own.starts[row]])) for row in (first, last))
        for name, after in in_time(list(lists(now.root_node, own.source.bytes, start, end)), until):
            before = next((parts for other, parts in old if other == name and parts.is_call == after.is_call), None)
            if before is None:
                continue
            old.remove((name, before))
            one = _difference(name, before, after, *names)
            known = found.get(name)
            if one and known and known.is_call != one.is_call and known.is_added == one.is_added:
                # The definition says that it is needed, the call what is given.
                found[name] = replace(one if one.is_call else known, is_call=False)
            elif one:
                found.setdefault(name, one)
    return list(found.values())


def _difference(name: str, before: Parts, after: Parts, new_names: Names, old_names: Names) -> Changed | None:
    """What was added to a list or taken away; None if it did not change by exactly one part."""
    is_added = len(after.texts) > len(before.texts)
    longer, shorter, names = (after, before, new_names) if is_added else (before, after, old_names)
    if len(longer.texts) != len(shorter.texts) + 1:
        return None
    index = next((at for at, text in enumerate(shorter.texts) if longer.texts[at] != text), len(shorter.texts))
    if longer.texts[index + 1 :] != shorter.texts[index:] or not longer.texts[index]:
        return None
    node, text = longer.nodes[index], longer.texts[index]
    if longer.is_call:
        is_many = any(part in node.type for part in _MANY)
        return None if is_many else Changed(name, index, len(longer.texts), text, _keyword(text), True, is_added)
    parameter = names.binds_in(node)
    if not parameter or (is_added and not _is_needed(longer, index)) or any(part in node.type for part in _MANY):
        return None
    by_name = any(each in ("*",) or re.match(r"\*\w", each) for each in longer.texts[:index])
    keyword = parameter if by_name else ""
    given = f"{parameter}={parameter}" if by_name else parameter
    left = longer.receivers
    return Changed(name, index - left, len(longer.texts) - left, given, keyword, False, is_added)


def _is_needed(parts: Parts, index: int) -> bool:
    """Whether each call has to give an argument for this parameter."""
    node = parts.nodes[index]
    return not any(part in node.type for part in _OPTIONAL) and not node.child_by_field_name("value")


def following(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Site]:
    """Yield the calls, and the definition, that no longer fit what the edit changed. None of them is certain.

    What was changed at a call only is changed at others if a definition is found that does not fit: a function that
    does is called in both ways on purpose. Where none is found, all calls have to be as the edited one was, and the
    model has to agree. On a page where a language server reports such calls, those that it reports are the ones.
    """
    for one in changed(edit, own, until):
        here = list(places(one.name, own, pages, until))
        reported = [place for place in here if place.parts.is_call and _is_reported(place)]
        checked = {place.page.uri for place in reported}
        yield from (site for place in reported if (site := _site(one, place, REPORTED_ODDS)))
        found = [
            (place, _site(one, place, NEEDED_ODDS if place.is_sure else DOUBTED_ODDS))
            for place in here
            if not (place.parts.is_call and place.page.uri in checked)
        ]
        sites = [site for _, site in found if site]
        if not one.is_call or any(site and not place.parts.is_call for place, site in found):
            yield from sites
        elif all(site and len(place.parts.texts) == one.count - one.is_added for place, site in found):
            yield from (replace(site, odds=ELSEWHERE_ODDS) for site in sites)


def _is_reported(place: Place) -> bool:
    """Whether a language server reports that a call does not fit its function."""
    page, around = place.page, place.parts.around
    start, end = character(page, around.start_byte), character(page, around.end_byte)
    return any(start <= each.offset < end and OF_ARGUMENTS.search(each.message) for each in page.errors)


def _site(one: Changed, place: Place, odds: float) -> Site | None:
    """The site that adds to a place what it lacks, or takes away what is too much; None if it fits."""
    parts, page = place.parts, place.page
    if not parts.is_call and not one.is_call:
        return None
    if parts.is_call and any(part in each.type for each in parts.nodes for part in _MANY):
        return None
    made = _added(one, parts, page) if one.is_added else _taken(one, parts)
    if made is None:
        return None
    start, end = (character(page, byte) for byte in made[:2])
    first, last = page.row(start), page.row(end) + 1
    if page.is_edited(first, last):
        return None
    old = tuple(page.lines[first:last])
    new = page.text[page.starts[first] : start] + made[2] + page.text[end : page.starts[last]]
    return Site(page, first, old, tuple(new.splitlines(keepends=True)), odds)


def _added(one: Changed, parts: Parts, page: Page) -> tuple[int, int, str] | None:
    """Where in the document, in bytes, which text goes so that the list has what was added; None if it fits."""
    text, index = one.text, one.index
    if not parts.is_call:
        text = one.keyword or one.text
        index += parts.receivers
        family = page.language.family if page.language else ""
        if family not in _UNTYPED or not text.isidentifier():
            return None
    if text in parts.texts:
        return None
    positional = [each for each in parts.texts if not _keyword(each)]
    if one.keyword:
        if any(_keyword(each) == one.keyword for each in parts.texts):
            return None
        index = len(parts.texts)
    elif index > len(positional) or len(parts.texts) - parts.receivers >= one.count:
        return None
    at = parts.nodes[index - 1].end_byte if index else parts.node.start_byte + 1
    return at, at, f", {text}" if index else f"{text}, " if parts.nodes else text


def _taken(one: Changed, parts: Parts) -> tuple[int, int, str] | None:
    """Which bytes of the document go so that the list no longer has what was taken away; None if it fits."""
    by_name = one.keyword or one.text
    index = next((at for at, each in enumerate(parts.texts) if _keyword(each) == by_name), None)
    if index is None:
        positional = [each for each in parts.texts if not _keyword(each)]
        index = one.index + parts.receivers
        is_full = len(parts.texts) - parts.receivers == one.count and index < len(positional)
        if one.keyword or not is_full or (not parts.is_call and not _is_needed(parts, index)):
            return None
    node, is_alone = parts.nodes[index], len(parts.nodes) == 1
    if index:
        return parts.nodes[index - 1].end_byte, node.end_byte, ""
    return node.start_byte, node.end_byte if is_alone else parts.nodes[1].start_byte, ""


def _keyword(text: str) -> str:
    found = re.match(r"(\w+)\s*=(?!=)", text)
    return found[1] if found else ""
