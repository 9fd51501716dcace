"""The engine's metrics in the Prometheus text format: numbers and fixed words only, never text from a request."""

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from dlsp_engine.decode.answer import Cost

TAU_BUCKETS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 6, 8)
SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MAX_REASONS = 64


class Metrics:
    """The metrics of one engine, in a Prometheus registry of their own."""

    def __init__(self) -> None:
        self.registry = here = CollectorRegistry()
        ProcessCollector(registry=here)
        self._requests = Counter("dlsp_requests", "Infill requests taken.", registry=here)
        self._refused = Counter("dlsp_refused", "Requests refused, by HTTP status.", ["status"], registry=here)
        self._gaps = Counter("dlsp_gaps", "Gaps that ended, by how.", ["outcome"], registry=here)
        self._tau = Histogram("dlsp_tau", "Tokens committed per step, by gap.", buckets=TAU_BUCKETS, registry=here)
        self._phases = Histogram(
            "dlsp_phase_seconds", "A gap's phases.", ["phase"], buckets=SECONDS_BUCKETS, registry=here
        )
        self._work = Counter("dlsp_work", "Prompt tokens, cached ones, steps, rows, tokens.", ["kind"], registry=here)
        self._quiet = Counter("dlsp_quiet", "Reasons for which clients stayed quiet.", ["reason"], registry=here)
        self._reasons: set[str] = set()

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is computed by `value` whenever the metrics are read."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def request(self, quiet: Mapping[str, int]) -> None:
        """Count a request. `quiet` maps reasons to how often the client showed nothing for them since its last
        request.
        """
        self._requests.inc()
        for reason, count in quiet.items():
            counted = reason in self._reasons or len(self._reasons) < MAX_REASONS
            self._reasons |= {reason} if counted else set()
            self._quiet.labels(reason if counted else "other").inc(count)

    def refused(self, status: int) -> None:
        self._refused.labels(status).inc()

    def ended(self, outcome: str, cost: Cost | None) -> None:
        """Count a gap that ended, with its costs if there are any. `outcome` is one of the reasons in `fill` events, or
        `cancelled`, or `failed`.
        """
        self._gaps.labels(outcome).inc()
        if cost is None:
            return
        for phase in ("queue", "prefill", "decode"):
            self._phases.labels(phase).observe(getattr(cost, f"{phase}_ms") / 1e3)
        for kind in ("prompt_tokens", "cached_tokens", "forwards", "rows", "tokens"):
            self._work.labels(kind).inc(getattr(cost, kind))
        if cost.forwards:
            self._tau.observe(cost.tau)

    def text(self) -> bytes:
        return generate_latest(self.registry)
