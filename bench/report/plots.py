"""The plots, each from a results file or the gate's table."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, PercentFormatter, ScalarFormatter, StrMethodFormatter

from bench.report.load import Result
from bench.report.style import canvas, colour, plain_ticks


def quality(result: Result) -> Figure:
    """pass@1 against forwards a gap: the curve of the diffusion thresholds, the other modes as points on its plane."""
    with canvas() as (figure, (axes,)):
        known = [name for name in result.contenders if name.startswith("diffusion") and name.endswith(":known")]
        unknown = [name for name in result.contenders if name.startswith("diffusion") and name not in known]
        for names, line, label in ((unknown, "-", "diffusion"), (known, "--", "diffusion, known length")):
            if names:
                _curve(axes, result, names, line, label)
        for name in result.contenders:
            if not name.startswith("diffusion") and name != "empty":
                x, y, error = _point(result, name)
                axes.errorbar(x, y, yerr=error, fmt="o", color=colour(name), label=name, capsize=2, elinewidth=0.8)
        if floor := result.get("empty", "pass_at_1"):
            axes.axhline(floor, color=colour("empty"), linewidth=0.8, linestyle=":", label="nothing filled in")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel("forwards a gap (less is faster)")
        axes.set_ylabel("pass@1")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _curve(axes: Axes, result: Result, names: list[str], line: str, label: str) -> None:
    points = sorted((*_point(result, name), name) for name in names)
    x, y = [point[0] for point in points], [point[1] for point in points]
    error = [[point[2][side][0] for point in points] for side in (0, 1)]
    shade = colour("diffusion")
    axes.errorbar(x, y, yerr=error, fmt=f"{line}o", color=shade, label=label, capsize=2, elinewidth=0.8)
    for at, height, _, name in points:
        axes.annotate(name.split(":")[1], (at, height), (5, -10), textcoords="offset points", fontsize=7, color=shade)


def _point(result: Result, name: str) -> tuple[float, float, list[list[float]]]:
    middle, low, high = (result.metrics[f"{name}/pass_at_1{end}"] for end in ("", "_low", "_high"))
    return result.metrics[f"{name}/forwards_per_gap"], middle, [[middle - low], [high - middle]]


WAITS = {"line": "a line, warm", "typed": "one more character", "cold-line": "a line, cold"}


def peers(result: Result) -> Figure:
    """Milliseconds that a user waits: medians with quartiles."""
    shown = [name for name in WAITS if any(result.get(one, name, "median") for one in result.contenders)]
    with canvas(1, len(shown) or 1, height=1.2 + 0.24 * len(result.contenders)) as (figure, all_axes):
        for axes, measure in zip(all_axes, shown, strict=False):
            names = [name for name in result.contenders if result.get(name, measure, "median") is not None][::-1]
            for at, name in enumerate(names):
                low, middle, high = (result.metrics[f"{name}/{measure}/{end}"] for end in ("q1", "median", "q3"))
                axes.barh(at, middle, color=colour(name), height=0.62)
                axes.plot([low, high], [at, at], color="#767676", linewidth=1)
            axes.set_yticks(range(len(names)), names if axes is all_axes[0] else [""] * len(names))
            axes.set_title(WAITS[measure])
            axes.set_xlabel("ms")
            axes.grid(axis="y", visible=False)
    return figure


KINDS = {
    "context": "after so many tokens of context (cold dashed)",
    "gap": "so many tokens to write (first line dashed)",
    "sites": "so many sites of a document (first dashed)",
    "users": "so many users at once (first dashed)",
}
MORE = {"context": "cold_ms", "gap": "first_ms", "sites": "first_ms", "users": "first_ms"}


def growth(result: Result) -> Figure:
    with canvas(2, 2, height=6.4) as (figure, all_axes):
        for axes, (kind, title) in zip(all_axes, KINDS.items(), strict=True):
            sizes: set[int] = set()
            for name in result.contenders:
                for field, line in (("ms", "-"), (MORE[kind], ":")):
                    points = _sizes(result, name, kind, field)
                    sizes |= points.keys()
                    label = name if field == "ms" else None
                    if points:
                        axes.plot(
                            list(points),
                            list(points.values()),
                            f"{line}o",
                            color=colour(name),
                            label=label,
                            markersize=3,
                        )
            axes.set_title(title)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(ScalarFormatter())
            axes.set_ylabel("ms")
            if sizes:
                plain_ticks(sorted(sizes), axes)
        handles = {}
        for axes in all_axes:
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="upper center", ncols=3, bbox_to_anchor=(0.5, 0.0))
    return figure


def _sizes(result: Result, name: str, kind: str, field: str) -> dict[int, float]:
    found = {
        int(metric.split("/")[2]): value
        for metric, value in result.metrics.items()
        if metric.startswith(f"{name}/{kind}/") and metric.endswith(f"/{field}")
    }
    return dict(sorted(found.items()))


def steps(result: Result) -> Figure:
    """Time against tau: what is below 1 is faster than autoregressive decoding."""
    with canvas(height=3.2) as (figure, (axes,)):
        for name in result.contenders:
            shade = colour("verified" if name != "autoregressive" else name)
            x, y = result.metrics[f"{name}/tau"], result.metrics[f"{name}/ratio_median"]
            low, high = (result.metrics[f"{name}/ratio_{end}"] for end in ("q1", "q3"))
            axes.errorbar(x, y, yerr=[[y - low], [high - y]], fmt="o", color=shade, capsize=2, elinewidth=0.8)
            axes.annotate(name, (x, y), (5, 3), textcoords="offset points", fontsize=7, color=shade)
        axes.axhline(1, color="#767676", linewidth=0.8, linestyle=":")
        axes.set_xlabel("tau (tokens a forward)")
        axes.set_ylabel("decode time, autoregressive = 1")
    return figure


ASKED = {"ask": "before the engine is asked", "show": "with its answer"}


def reliability(found: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """How often the gate's two models are right against how often they say so, each in bins of its probability."""
    with canvas(width=4.2, height=3.6) as (figure, (axes,)):
        axes.plot([0, 1], [0, 1], ":", color=colour("empty"), linewidth=0.8)
        for (which, label), shade in zip(ASKED.items(), ("autoregressive", "verified"), strict=True):
            x, y = ([one[what] for one in found[which]] for what in ("predicted", "right"))
            axes.plot(x, y, "-o", color=colour(shade), label=label)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel("said to be right")
        axes.set_ylabel("right")
        axes.legend(loc="lower right")
    return figure


DIAL = {"gaps": "gaps", "chats": "tasks in chats"}


def capacity(results: Sequence[tuple[str, Result]], users: int) -> Figure:
    """p50 and p95 of simulated answers by the number of typists, one line each for a way of decoding; `users` is where
    the question was.
    """
    with canvas() as (figure, (axes,)):
        ticks: set[int] = set()
        for (label, result), shade in zip(results, ("verified", "autoregressive"), strict=True):
            places = {int(name.split("u-")[0]): name.split("/")[0] for name in sorted(result.metrics) if "u-" in name}
            places = dict(sorted(places.items()))
            ticks |= set(places)
            for value, line in (("p50_ms", "-"), ("p95_ms", "--")):
                heights = [result.metrics[f"{place}/router/{value}"] for place in places.values()]
                axes.plot(
                    list(places), heights, line, color=colour(shade), label=f"{label}, {value.removesuffix('_ms')}"
                )
        axes.axvline(users, color=colour("empty"), linewidth=0.8, linestyle=":")
        plain_ticks(sorted(ticks), axes)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.set_xlabel("typists")
        axes.set_ylabel("ms")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def dial(result: Result) -> Figure:
    """pass@1 against the median time, a point an effort."""
    with canvas(1, 2, height=2.8) as (figure, all_axes):
        for axes, (kind, title) in zip(all_axes, DIAL.items(), strict=True):
            parts = [name.split("/") for name in result.metrics]
            efforts = [part[1] for part in parts if part[0] == kind and part[-1] == "pass@1"]
            x, y = ([result.metrics[f"{kind}/{one}/{what}"] for one in efforts] for what in ("ms_median", "pass@1"))
            axes.plot(x, y, "-o", color=colour("verified"))
            for at, height, effort in zip(x, y, efforts, strict=True):
                axes.annotate(effort, (at, height), (4, 5), textcoords="offset points", fontsize=7)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.minorticks_off()
            axes.margins(0.2)
            axes.yaxis.set_major_formatter(PercentFormatter(1))
            axes.set_title(title)
            axes.set_xlabel("ms")
        all_axes[0].set_ylabel("pass@1")
    return figure
