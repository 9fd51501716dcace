"""What a team's server counts and notes: numbers, users and fixed words, never text of a request."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

SECONDS_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)
NOBODY = ""  # the user of a request without a valid token


@dataclass(frozen=True)
class Ended:
    """A request that ended. `what` is one of a fixed set of words; `replica` is empty where none was asked."""

    user: str
    what: str
    status: int
    seconds: float
    bytes_in: int
    bytes_out: int
    replica: str = ""


class Measures:
    """The server's metrics in the Prometheus text format, and a JSON line in the file `audit` for each request."""

    def __init__(self, audit: Path | None, clock: Callable[[], float] = time.time) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._audit, self._clock = audit, clock
        self._registry = here = CollectorRegistry()
        self._requests = Counter(
            "dlsp_team_requests", "Requests that ended.", ["user", "what", "status"], registry=here
        )
        self._seconds = Histogram(
            "dlsp_team_seconds", "Until a request's end.", ["user"], buckets=SECONDS_BUCKETS, registry=here
        )
        self._replicas = Counter(
            "dlsp_team_replica_requests", "Requests that a replica answered.", ["replica"], registry=here
        )
        self._replica_seconds = Counter(
            "dlsp_team_replica_seconds", "Until the ends of a replica's requests.", ["replica"], registry=here
        )
        self._ongoing = Gauge("dlsp_team_ongoing", "Requests that have not ended.", registry=here)

    def began(self) -> None:
        self._ongoing.inc()

    def ended(self, request: Ended) -> None:
        self._ongoing.dec()
        self._requests.labels(request.user, request.what, request.status).inc()
        if request.user:
            self._seconds.labels(request.user).observe(request.seconds)
        if request.replica:
            self._replicas.labels(request.replica).inc()
            self._replica_seconds.labels(request.replica).inc(request.seconds)
        if self._audit:
            self._note(self._audit, request)

    def text(self) -> bytes:
        from prometheus_client import generate_latest

        return generate_latest(self._registry)

    def _note(self, audit: Path, request: Ended) -> None:
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock())),
            "user": request.user,
            "what": request.what,
            "status": request.status,
            "ms": round(1e3 * request.seconds),
            "bytes_in": request.bytes_in,
            "bytes_out": request.bytes_out,
            "replica": request.replica,
        }
        try:
            with audit.open("a", encoding="utf-8") as file:  # opened each time, so that it may be rotated
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            log.error("The audit file %s cannot be written: %s.", audit, error.strerror)
