"""How well an edit is carried on."""

from collections.abc import Mapping

from bench.report.blocks.words import SMALL, Needed, prose, ran
from bench.report.page import percent


def edits(results: Needed) -> str:
    found, nothing = results[f"edits-dev-{SMALL}"], results[f"edits-negatives-dev-{SMALL}"]
    whole, quiet = found.metrics, nothing.metrics

    def judged(metrics: Mapping[str, float], name: str) -> str:
        return percent(metrics[f"judged/{name}"])

    repositories = len({sample["id"].partition("@")[0] for sample in found.samples})
    return prose(
        f"Edits mined from {repositories} Python repositories, the first hunk given: of "
        f"{whole['judged/renames/rows']:.0f} renames "
        f"{judged(whole, 'renames/all_exact')} are carried on exactly as the authors did, "
        f"{judged(whole, 'renames/false')} of what is shown is not what they did (names told and replaced "
        f"everywhere: {percent(whole['substitution/renames/all_exact'])} and "
        f"{percent(whole['substitution/renames/false'])}); of all {whole['judged/all/hunks']:,.0f} hunks of "
        f"{whole['judged/all/rows']:,.0f} edits of every kind {judged(whole, 'all/exact')} are found, "
        f"{judged(whole, 'all/precision')} of what is shown is right, and nothing is shown after "
        f"{judged(quiet, 'all/quiet')} of {quiet['judged/all/rows']:.0f} edits that nothing follows "
        f"({ran(found)}, {ran(nothing)})."
    )
