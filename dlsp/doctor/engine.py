"""Checks of the model and its engine: file, process, network sockets, cost of a step, and a timed completion."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from ipaddress import IPv6Address, ip_address
from typing import Any, cast

from dlsp.doctor.check import Check
from dlsp.doctor.machine import gpu
from dlsp.engine import launch, local, state
from dlsp.engine.client import Engine
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import DEFAULT, Model
from dlsp.models.pull import wrong_source
from dlsp.models.sizing import choose
from dlsp.wording import count

SAMPLE = {"prefix": "def add(a: int, b: int) -> int:\n    return ", "suffix": "\n", "path": "sums.py"}
REQUEST = {"gaps": [SAMPLE], "end": "line", "max_tokens": 16}
SLOW_MS = 1500


def installed() -> Check | None:
    """A failed check if no engine can run in this installation, else None."""
    if not (missing := local.missing()):
        return None
    todo = f"Run `{local.install_command()}` for one on this machine."
    if not gpu() and (first := local.cpu_torch_command()):
        todo += f" Before it, `{first}` saves 4.5 GB: there is no NVIDIA GPU here."
    return Check("engine", False, "dlsp is installed without an engine", todo, {"missing": missing})


def size() -> Check:
    """Which model `auto` selects, and why, and what each model costs here."""
    choice = choose()
    data = {name: asdict(estimate) for name, estimate in choice.estimates.items()}
    each = [f"{name} {its.line_ms:.0f} ms ({its.how})" for name, its in choice.estimates.items()]
    said = "; ".join([choice.why, f"a line takes {', '.join(each)}"] if each else [choice.why])
    return Check("size", True, said, data={"auto": choice.model.short, "estimates": data})


def model_file(model: Model) -> Check:
    """Whether the model's file is here and has the right SHA-256."""
    try:
        file = store.verify(model)
    except store.ModelMissing as error:
        return Check("model", False, f"{error.said}.", f"{error.todo[0].upper()}{error.todo[1:]}.")
    return Check(
        "model", True, f"{model.short}, SHA-256 {model.sha256}", data={"file": str(file), "sha256": model.sha256}
    )


def source(model: Model) -> list[Check]:
    """A failed check if DLSP_MODEL_FILE is wrong; none if it is unset or valid."""
    wrong = wrong_source(model)
    said, _, todo = wrong.partition(": ")
    return [Check("source", False, f"{said}.", todo[0].upper() + todo[1:])] if wrong else []


async def checks(model: Model, start: Callable[[Model], Awaitable[Engine]]) -> list[Check]:
    """Checks of the engine, started by `start` if none runs; one failed check if it cannot be reached or started."""
    began = time.perf_counter()
    try:
        running = await launch.connect(model)
        engine = running or await start(model)
    except UserError as error:
        return [_failed(model, error)]
    started = None if running else time.perf_counter() - began
    async with engine:
        try:
            health = await engine.health()
            found = [process(health, started), destination(engine.state), update(health), adapter(health)]
            return [*found, *edits(health), *step(health), await completion(engine)]
        except UserError as error:
            return [_failed(model, error)]


def _failed(model: Model, error: UserError) -> Check:
    log = str(state.log(model.name))
    return Check("engine", False, str(error), "" if log in str(error) else f"See {log}.")


def process(health: Mapping[str, Any], started: float | None) -> Check:
    """The engine's process and version; `started` is the seconds its start took, None if it ran already."""
    report = {name: health.get(name) for name in ("version", "pid", "api", "dtype", "uptime_s", "requests", "sessions")}
    said = f"process {report['pid']}, version {report['version']}, {report['dtype']}"
    said += f", started in {started:.1f} s" if started is not None else f", up for {report['uptime_s']:.0f} s"
    return Check("engine", True, said, data=report | {"start_s": started})


def destination(found: state.State) -> Check:
    """Where text goes, and whether the engine's process has network sockets that reach beyond this machine."""
    beyond = sockets_beyond(found.pid)
    data = {"destination": found.destination, "address": found.address, "beyond": beyond}
    if beyond:
        said = f"the engine has sockets that reach beyond this machine: {', '.join(beyond)}"
        return Check("text", False, said, "Stop it with `dlsp engine stop`, and report this.", data)
    checked = "" if beyond is None else ", and it has no socket that reaches beyond it"
    return Check("text", True, f"of requests to this engine goes to {found.destination}{checked}", data=data)


def update(health: Mapping[str, Any]) -> Check:
    """Whether the weights include the infill update."""
    version, why = _step(health).get("update", ""), _step(health).get("no_update", "")
    said = f"infill update {version} is in the weights"
    if not version:
        said = f"no infill update: {why or 'the model as it was published'}"
    return Check("update", True, said, data={"version": version})


def adapter(health: Mapping[str, Any]) -> Check:
    """Whether the engine has a canvas adapter for its model."""
    version = health.get("adapter")
    missing = _step(health).get("no_canvas") or "there is no canvas adapter for this model"
    said = f"canvas adapter {version}" if version else missing
    todo = "" if version else "Suggestions stay right, at the speed of mode `autoregressive`."
    return Check("adapter", bool(version), said, todo, {"version": version})


def edits(health: Mapping[str, Any]) -> list[Check]:
    """In which format the model writes next edits; empty if it was not trained to."""
    if not _step(health).get("writes_edits"):
        return []
    form = _step(health).get("edit_format", "")
    return [Check("edits", True, f"the model writes next edits in the format {form}", data={"edit_format": form})]


def step(health: Mapping[str, Any]) -> list[Check]:
    """The cost of a step by its number of rows, as measured by the engine; empty if the engine reports none."""
    if not (step := _step(health)):
        return []
    costs: dict[str, float] = step.get("costs") or {}
    table = ", ".join(f"{count(int(rows), 'row')} {float(ms):.0f} ms" for rows, ms in costs.items())
    where = f" on {device}" if (device := step.get("device", "cpu")) != "cpu" else ""
    checks = [Check("step", True, f"{step.get('dtype')}{where}: {table or 'not measured'}", data=dict(step))]
    if replaced := step.get("replaced"):
        said = "; ".join(f"{kernel} ({why})" for kernel, why in dict(replaced).items())
        todo = "Suggestions stay right and are slow; set DLSP_DEVICE=cpu, or report this."
        checks.append(Check("kernels", False, f"these do not work here: {said}", todo))
    return checks


def _step(health: Mapping[str, Any]) -> Mapping[str, Any]:
    step = health.get("step")
    return cast("Mapping[str, Any]", step) if isinstance(step, Mapping) else {}


async def completion(engine: Engine) -> Check:
    """A completion of SAMPLE; it fails if it takes SLOW_MS or more."""
    began = time.perf_counter()
    fill = await engine.fill(REQUEST)
    took = 1e3 * (time.perf_counter() - began)
    cost = fill["cost"]
    phases = ", ".join(f"{name} {cost[f'{name}_ms']:.0f}" for name in ("queue", "prefill", "decode"))
    said = f"`return {fill['text'].strip()}` in {took:.0f} ms ({phases}), tau {cost['tau']:.2f}"
    smaller = f", or use the model {DEFAULT.short}" if engine.state.model != DEFAULT.name else ""
    todo = "" if took < SLOW_MS else f"Close what else keeps the processor busy{smaller}."
    return Check("completion", took < SLOW_MS, said, todo, {"ms": round(took, 1), **cost})


def sockets_beyond(pid: int) -> list[str] | None:
    """The process's network sockets that others than this machine can reach or that are connected to others, each as
    `ADDRESS:PORT` of the far end, or of the near end where it listens. None if the system does not say.
    """
    import psutil

    try:
        sockets = psutil.Process(pid).net_connections(kind="inet")
    except psutil.Error:
        return None
    ends = (each.raddr or each.laddr for each in sockets)
    return sorted({f"{end.ip}:{end.port}" for end in ends if end and not _is_here(end.ip)})


def _is_here(address: str) -> bool:
    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback
