"""`dlsp team serve`: starts Ray where none runs, gives it the applications, and waits until the server is to end."""

import logging
import os
import queue
import secrets
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from dlsp.api.listener import listen
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import find
from dlsp.team.application import DEPLOYMENT, HOLDER, ROUTER, engine, ingress, ray_module, without_dumps
from dlsp.team.config import Config, ServedModel

log = logging.getLogger(__name__)

START_S = 600  # the most until the first replica of each model has its weights
POLL_S = 0.2
OBJECT_STORE_BYTES = 100_000_000  # requests and answers are small
# Ray kills its HTTP proxy if that is not there after 5 s. It takes longer at the first start after an installation, and
# where all processors are busy.
PROXY_START_S = 50
JOIN_S = 5.0  # until a cluster accepts a connection
NOT_STARTED = (
    "Ray did not start: try again when the machine is less busy. Its logs are in /tmp/ray/session_latest/logs."
)
NOT_JOINED = "The Ray cluster at {} does not answer: correct RAY_ADDRESS, or leave it away to start Ray here."
LOOPBACK = "127.0.0.1"
LOGGING = {"enable_access_log": False, "log_level": "WARNING"}
NAME = "dlsp"  # of the application that answers HTTP; each model's is NAME-MODEL


class Running:
    """The server while it runs: an application of Ray Serve for each model, and one before them that answers HTTP.
    `url` is where it listens."""

    def __init__(self, config: Config, holder: str = HOLDER, router: str = ROUTER) -> None:
        self._config, self._holder, self._router = config, holder, router
        host = f"[{config.host}]" if ":" in config.host else config.host
        self.url = f"{'https' if config.tls else 'http'}://{host}:{config.port}"
        self._models: dict[str, ServedModel] = {}  # that have an application
        self._began_ray: bool | None = None  # None: not started yet

    def start(self, progress: Callable[[str], None] = lambda line: None) -> None:
        """Start the server; returns when each model has a replica. Raises UserError if one cannot be started."""
        config = self._config
        without_dumps()
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray would report to its makers
        os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", str(PROXY_START_S))
        address = os.environ.get("RAY_ADDRESS")
        if not address:  # whoever reaches Ray's ports could otherwise run code in it
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once a process
        ray, serve, settings = ray_module("ray"), ray_module("ray.serve"), ray_module("ray.serve.config")
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        own: dict[str, Any] = {
            "object_store_memory": OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "_node_ip_address": LOOPBACK,
        }
        progress("Joining the Ray cluster." if address else "Starting Ray.")
        http = settings.HTTPOptions(
            host=config.host,
            port=config.port,
            ssl_certfile=config.tls and str(config.tls.certificate),
            ssl_keyfile=config.tls and str(config.tls.key),
        )
        try:
            ray.init(
                address=address or "local",
                namespace=NAME,
                log_to_driver=False,
                logging_level="error",
                **({} if address else own),
            )
            self._began_ray = not address
            serve.start(http_options=http, logging_config=LOGGING)
        except (ray.exceptions.RayError, OSError) as error:  # a TimeoutError is an OSError
            log.warning("Ray did not start: %s: %s", type(error).__name__, error)
            raise UserError(NOT_JOINED.format(address) if address else NOT_STARTED) from error
        self._deploy(config, progress)

    def change(self, config: Config, progress: Callable[[str], None] = lambda line: None) -> None:
        """Serve what `config` says from now on. What it leaves as it is goes on; what it changes is there before the
        old ends, so that each request is answered. Raises UserError for what cannot change or start."""
        old = self._config
        if (config.host, config.port, config.tls) != (old.host, old.port, old.tls):
            raise UserError("`host`, `port` and `tls` cannot change while the server runs: end it and start it again.")
        self._deploy(config, progress)
        self._config = config

    def _deploy(self, config: Config, progress: Callable[[str], None]) -> None:
        serve = ray_module("ray.serve")
        wanted = {each.name: each for each in config.models}
        for name, model in wanted.items():
            if self._models.get(name) != model:
                made = engine(model, self._holder, self._router, counted=not self._began_ray)
                self._run(serve, _named(name), made, progress)
                self._models[name] = model
        handles = {name: serve.get_deployment_handle(DEPLOYMENT.format(name), _named(name)) for name in wanted}
        self._run(serve, NAME, ingress(config, handles), progress, route="/")
        for name in self._models.keys() - wanted.keys():
            serve.delete(_named(name))
            del self._models[name]

    def _run(self, serve: Any, name: str, made: Any, progress: Callable[[str], None], route: str | None = None) -> None:
        """Give Ray an application, and wait until it runs."""
        target = serve.RunTarget(made, name=name, route_prefix=route, logging_config=LOGGING)
        serve.run_many([target], wait_for_ingress_deployment_creation=False, wait_for_applications_running=False)
        began, said = time.monotonic(), ""
        while time.monotonic() - began < START_S:
            found = serve.status().applications.get(name)
            state = str(getattr(found.status, "value", found.status)) if found else "NOT_STARTED"
            if state == "RUNNING":
                return
            if state in ("DEPLOY_FAILED", "UNHEALTHY"):
                raise UserError(f"The server could not be started: {_last_line(found)}")
            line = _waiting(found)
            if line and line != said:
                progress(line)
                said = line
            time.sleep(POLL_S)
        raise UserError(f"The server was not ready after {START_S} s: `serve status` says what it waits for.")

    def stop(self) -> None:
        """End the application, and Ray if `start` has started it."""
        if self._began_ray is None:
            return
        ray, serve = ray_module("ray"), ray_module("ray.serve")
        if self._began_ray:
            serve.shutdown()
            ray.shutdown()
        else:
            for name in (NAME, *map(_named, self._models)):
                serve.delete(name)


def serve_until_ended(load: Callable[[], Config], progress: Callable[[str], None], holder: str = HOLDER) -> None:
    """Serve the configuration that `load` returns until SIGTERM or Ctrl-C. At SIGHUP it is loaded again, and what is
    different replaced; a configuration that is wrong changes nothing. Raises UserError."""
    config = load()
    _check(config, holder)
    asked: queue.SimpleQueue[bool] = queue.SimpleQueue()  # whether to go on, with a new configuration
    running = Running(config, holder)
    try:
        running.start(progress)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # after Ray has set its own
            signal.signal(number, lambda number, _: asked.put(number == signal.SIGHUP))
        progress(f"Serving at {running.url}; Ctrl-C ends it.")
        while asked.get():
            try:
                running.change(load(), progress)
                progress("The new configuration is served.")
            except UserError as error:
                progress(f"The configuration was not changed: {error}")
    finally:
        running.stop()


def _check(config: Config, holder: str) -> None:
    """Raise UserError for what would make Ray fail later and in other words: a port that is taken, a cluster that does
    not answer, and, without a cluster, a model that is not here."""
    for each in listen(config.host, [config.port]):
        each.close()
    host, _, port = os.environ.get("RAY_ADDRESS", "").rpartition(":")
    if port.isdigit() and "/" not in host:  # Ray itself would try for minutes
        try:
            socket.create_connection((host.strip("[]"), int(port)), JOIN_S).close()
        except OSError as error:
            raise UserError(NOT_JOINED.format(f"{host}:{port}")) from error
    if holder == HOLDER and not os.environ.get("RAY_ADDRESS"):
        for model in config.models:
            store.path(find(model.name))


def _named(model: str) -> str:
    """The name of a model's application."""
    return f"{NAME}-{model}"


def _waiting(found: Any) -> str:
    """What an application still waits for, in a line."""
    states = found.deployments.items() if found else ()
    return ", ".join(f"{name}: {dict(each.replica_states) or 'no replica yet'}" for name, each in states)


def _last_line(found: Any) -> str:
    """The last line of the reasons that Ray gives: the error itself, after the tracebacks."""
    texts = [each.message for each in found.deployments.values() if each.message] or [found.message or "no reason"]
    lines = [line.strip() for line in texts[0].splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given."
