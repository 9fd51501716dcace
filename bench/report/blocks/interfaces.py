"""What other clients get through `dlsp api`."""

from bench.report.blocks.words import LARGE, SMALL, Needed, prose, ran
from bench.report.load import Result
from bench.report.page import Table, number, percent

WAYS = {"auto": "`tool_choice` `auto`", "required": "`tool_choice` `required`", "json": "`json_schema`"}
SIZES = {"0.5B": SMALL, "1.5B": LARGE}
EFFORTS = ("instant", "low", "medium", "high")


def clients(results: Needed) -> str:
    result, added = results["api"], results["api-added"]
    metrics = result.metrics
    names = [name.removeprefix("differ/") for name in metrics if name.startswith("differ/")]
    rows = [
        [name, number(metrics[f"differ/{name}"], 0), f"{number(added.metrics[f'added_ms/{name}'])} ms"]
        for name in names
    ]
    text = (
        f"{metrics['gaps']:.0f} gaps were filled through each interface of `dlsp api` and by the engine itself: how "
        f"many texts differ ({ran(result)}), and what an interface adds to an answer in the "
        f"median ({ran(added)}). While lines are typed key by key, "
        f"{metrics['cached/llama.vim']:.2%} of the prompts' tokens are cached for requests like llama.vim's and "
        f"{metrics['cached/minuet']:.2%} for requests like minuet's."
    )
    return f"{prose(text)}\n\n{Table(['interface', 'other texts', 'added'], rows, '').markdown()}"


def chats(results: Needed) -> str:
    return f"{_calls(results)}\n\n{_throughput(results)}\n\n{_dial(results)}"


def _calls(results: Needed) -> str:
    found = {size: results[f"calls-{model}"] for size, model in SIZES.items()}
    rows = [
        [f"{size}, {label}", *(percent(result.get(way, share)) for share in ("answered", "valid", "named", "right"))]
        for size, result in found.items()
        for way, label in WAYS.items()
    ]
    small = found["0.5B"]
    text = (
        f"{small.metrics['requests']:.0f} requests in plain words, ten for each of {small.metrics['functions']:.0f} "
        "functions with a schema each. A model may call one of four functions, must call one, or must write an "
        "object of the right function's schema. Valid is a share of what was answered so and not in words; right "
        "are all arguments of the right function "
        f"({', '.join(map(ran, found.values()))}):"
    )
    heading = ["", "answered so", "valid", "right function", "right arguments"]
    return f"{prose(text)}\n\n{Table(heading, rows, '').markdown()}"


def _throughput(results: Needed) -> str:
    found = results[f"throughput-{SMALL}"]
    metrics = found.metrics
    sides = [name for name in found.contenders if name.startswith("llama.cpp")]
    rates = {name: metrics[f"{name}/answers_a_minute_median"] for name in ("dlsp", *sides)}
    best = max(sides, key=lambda name: rates[name])
    low, middle, high = (metrics[f"ratio_{end}"] for end in ("q1", "median", "q3"))
    built = found.more.get("llama")
    isa = f" (built for {'AVX-512' if 'AVX512' in built['isa'] else 'AVX2'})" if built else ""
    return prose(
        f"Short JSON tasks like these, sent by several clients at once, each round with new ones: {rates['dlsp']:.0f} "
        f"answers a minute, {rates[best]:.0f} by llama.cpp's server{isa} from the same file with {best.split()[1]} "
        f"slots; that is {middle:.1f} times as many ({low:.1f} to {high:.1f}). Valid are {metrics['dlsp/valid']:.1%} "
        f"and {metrics[f'{best}/valid']:.1%}, right {metrics['dlsp/right']:.1%} and {metrics[f'{best}/right']:.1%} "
        f"({ran(found)})."
    )


def _dial(results: Needed) -> str:
    if (name := f"dial-{SMALL}") not in results:
        return "What `reasoning_effort` buys has not been measured yet (`python -m bench.dial`)."
    found = results[name]
    rows = [[f"`{effort}`", *_effort(found, "gaps", effort), *_effort(found, "chats", effort)] for effort in EFFORTS]
    text = (
        f"What `reasoning_effort` buys on {found.metrics['gaps/tasks']:.0f} single-line gaps and on "
        f"{found.metrics['chats/tasks']:.0f} tasks of HumanEval in chats: pass@1, the answers won and lost beside "
        f"`low`, the median time, and all times beside those of `low` ({ran(found)}):"
    )
    heading = ["", "gaps", "won, lost", "time", "chats", "won, lost", "time"]
    picture = "![pass@1 against time, at each effort](pictures/dial.svg)"
    return f"{prose(text)}\n\n{Table(heading, rows, '').markdown()}\n\n{picture}"


def _effort(found: Result, kind: str, effort: str) -> list[str]:
    of = {name: found.metrics[f"{kind}/{effort}/{name}"] for name in ("pass@1", "won", "lost", "ms_median")}
    return [
        percent(of["pass@1"]),
        f"{of['won']:.0f}, {of['lost']:.0f}",
        f"{of['ms_median']:,.0f} ms, {found.metrics[f'{kind}/{effort}/ratio_of_sums']:.2f} times",
    ]
