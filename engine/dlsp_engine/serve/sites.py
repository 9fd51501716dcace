"""Parses and checks the bodies of `POST /v1/sites`."""

from typing import Any

from dlsp_engine.errors import EngineError
from dlsp_engine.serve.requests import (
    Parsed,
    TooLarge,
    bounded,
    checked,
    client,
    files,
    gap_options,
    listed,
    priority,
    text,
    truth,
    unicode,
)
from dlsp_engine.site import Site
from dlsp_engine.text.prompt import File, Gap

MAX_SITES = 64
MAX_CANDIDATES = 8
MAX_TEXT_CHARACTERS = 16_000
OPTION_FIELDS = {"end", "stop", "max_tokens", "mode", "schedule", "draft", "copy"}
FIELDS = {"files", "edit", "sites", "priority", "client"} | OPTION_FIELDS
SITE_FIELDS = {"path", "prefix", "suffix", "text", "candidates", "propose", "without"}


def parse_sites(body: Any) -> Parsed[Site]:
    """Return the checked body. Raises EngineError with one sentence that names the field and the values it takes."""
    checked(body, FIELDS)
    given, edit = files(body, "files"), files(body, "edit")
    sites = tuple(_site(site, given, edit) for site in listed(body, "sites"))
    if not 1 <= len(sites) <= MAX_SITES:
        raise EngineError(f"'sites' must hold 1 to {MAX_SITES} sites.")
    if any(len(each) > MAX_TEXT_CHARACTERS for site in sites for each in (site.text, *site.candidates)):
        raise TooLarge(f"A text or candidate of a site holds at most {MAX_TEXT_CHARACTERS} characters.")
    bounded([each for site in sites for each in _texts(site)], given + edit)
    return Parsed(sites, gap_options(body), priority(body, "filling"), client(body))


def _site(raw: Any, given: tuple[File, ...], edit: tuple[File, ...]) -> Site:
    checked(raw, SITE_FIELDS, "A site")
    path = text(raw, "path", "sites", "")
    before = raw.get("without", raw)
    if before is not raw:
        checked(before, {"prefix", "suffix"}, "'without' of a site")
    candidates = listed(raw, "candidates")
    if len(candidates) > MAX_CANDIDATES or not all(isinstance(each, str) for each in candidates):
        raise EngineError(f"'candidates' of a site must hold at most {MAX_CANDIDATES} texts.")
    return Site(
        Gap(text(raw, "prefix", "sites"), text(raw, "suffix", "sites"), path=path, files=given + edit),
        Gap(text(before, "prefix", "without"), text(before, "suffix", "without"), path=path, files=given),
        text(raw, "text", "sites"),
        tuple(unicode(each, "'candidates' of a site") for each in candidates),
        truth(raw.get("propose", True), "propose"),
    )


def _texts(site: Site) -> tuple[str, ...]:
    """Return all texts of a site whose characters count."""
    seen, unseen = site.gap, site.without
    return (seen.path, seen.prefix, seen.suffix, unseen.prefix, unseen.suffix, site.text, *site.candidates)
