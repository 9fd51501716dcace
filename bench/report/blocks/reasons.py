"""Why somebody should try dlsp: five reasons for the README, each with what was measured."""

from bench.report.blocks.latency import PEER
from bench.report.blocks.typing import OURS
from bench.report.blocks.typing import PEER as VIM
from bench.report.blocks.words import SMALL, Needed, prose
from bench.report.page import number, percent


def reasons(results: Needed) -> str:
    """A list of Markdown, one item a reason."""
    proof, quality = results["identity"].metrics, results[f"quality-single-line-{SMALL}-int8"]
    peers, typing, edits = (results[f"{name}-{SMALL}"].metrics for name in ("peers", "replay", "edits-dev"))
    same = round(proof["all/identical"] + proof["all/tie"])
    steps = [number(quality.get(mode, "forwards_per_gap")) for mode in ("verified", "autoregressive")]

    def wait(measure: str, who: str = "int8 verified") -> str:
        return f"{peers[f'{who}/{measure}/median']:.0f} ms"

    def while_writing(who: str, what: str) -> str:
        return f"{typing[f'{who}/writing/{what}']:.0%}"

    items = (
        f"**Exact.** A diffusion canvas drafts, the same weights check. In float32 the answer was that of ordinary "
        f"decoding in {same:,} of {same + round(proof['all/different']):,} comparisons; a line took {steps[0]} steps "
        f"instead of {steps[1]}.",
        f"**Fast without a GPU.** On two cores a line takes {wait('line')} ({PEER}: {wait('line', PEER)}), and the "
        f"line after one more typed character {wait('typed')} ({PEER}: {wait('typed', PEER)}).",
        f"**Careful.** It completed {while_writing(OURS, 'completed')} of the characters of lines that were typed "
        f"anew, and {while_writing(OURS, 'right_first')} of what it showed was right ({VIM}'s policy: "
        f"{while_writing(VIM, 'completed')} and {while_writing(VIM, 'right_first')}).",
        f"**It follows your renames.** Of {edits['judged/renames/rows']:.0f} real renames "
        f"{percent(edits['judged/renames/all_exact'])} were carried on exactly as their authors did; "
        f"{percent(edits['judged/renames/false'])} of the places shown were wrong. Other edits it seldom follows "
        f"({percent(edits['judged/all/exact'])} of their places).",
        f"**It says why.** Every silence has a reason that you can look up. In "
        f"{results['faults'].metrics['rounds']:.0f} rounds of faults, from `kill -9` to a full disk, every request had "
        f"a suggestion or a reason within {number(results['faults'].metrics['answered_s/max'])} s.",
    )
    return "\n".join(prose(f"- {item}").replace("\n", "\n  ") for item in items)
