"""The team's server on Ray Serve: one deployment for each model, whose replicas hold an engine each, behind an ingress.

Ray is imported when the server is built, since only a team's server has it. The engine is named by its import path, and
imported in the replicas alone.
"""

import os
import resource
from collections.abc import AsyncGenerator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from dlsp import __version__, paths
from dlsp.errors import UserError
from dlsp.models import store
from dlsp.models.catalogue import find
from dlsp.team import config
from dlsp.team.config import NOT_INSTALLED, Config, ServedModel
from dlsp.team.ingress import team
from dlsp.team.measures import Measures
from dlsp.team.users import Users

DEPLOYMENT = "engine-{}"  # of a model, by its name
HOLDER = "dlsp_engine.serve.replica:load_replica"
ROUTER = "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter"
MAX_ONGOING = 64  # requests that a replica has at once; the router asks another for more
INGRESS_ONGOING = 1000
HEALTH_PERIOD_S, HEALTH_TIMEOUT_S = 2, 10
SHUTDOWN_S = 20  # a replica that is to end may finish its requests within this time
# A replica that is to end waits so long at least, since whoever has not heard of it yet still sends it requests. Ray's
# own 2 s were too short where all processors were busy: two of some hundred requests broke off.
LEAVING_S = 5.0
SURGE_PERCENT = 100  # of the replicas: so many new ones may be started before old ones end
UPSCALE_S, DOWNSCALE_S = 10, 60  # that more or fewer replicas must be right before their number changes
CONFIG_VARIABLE = "DLSP_TEAM_CONFIG"


class EngineReplica:
    """A replica: the engine in this process, and this replica's name."""

    def __init__(self, model: str, threads: int, gpus: float, holder: str) -> None:
        without_dumps()
        serve = ray_module("ray.serve")
        module, _, name = holder.partition(":")
        self._name = str(serve.get_replica_context().replica_id.unique_id)
        device = "cuda" if gpus else "cpu"
        file = "" if holder != HOLDER else str(store.path(find(model)))
        cache = str(paths.cache_dir())
        self._held: Any = getattr(import_module(module), name)(model, file, cache, __version__, threads, device)

    async def ask(self, method: str, path: str, body: bytes) -> AsyncGenerator[Any]:
        """Yield this replica's name, the status, and then the body in pieces."""
        yield self._name
        async for item in self._held.ask(method, path, body):
            yield item

    def check_health(self) -> None:
        """Called by Ray, which replaces a replica that raises."""
        if self._held.broken:
            raise RuntimeError("the engine is broken")


class Ingress:
    """The deployment that answers HTTP. There is one, since it counts what each user asks."""

    def __init__(self, served: Config, models: Mapping[str, Any]) -> None:
        self._config, self._models = served, models

    def __serve_build_asgi_app__(self) -> Any:
        without_dumps()
        replicas = {name: _RayReplicas(handle) for name, handle in self._models.items()}
        served = self._config
        return team(served, replicas, Users(served.tokens, served.limits), Measures(served.audit))


class _RayReplicas:
    """The replicas of one deployment, by Ray's handle."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle.options(stream=True)

    async def ask(self, session: str, method: str, path: str, body: bytes) -> AsyncGenerator[Any]:
        answer = self._handle.options(session_id=session).ask.remote(method, path, body)
        try:
            async for item in answer:
                yield item
        finally:
            answer.cancel()


def without_dumps() -> None:
    """Let this process and those that it starts leave no dump of their memory, which has users' text, if they crash."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def ray_module(name: str) -> Any:
    """The module `ray`, or one of its modules. Raises UserError if Ray is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UserError(NOT_INSTALLED) from None


def build(args: Mapping[str, Any]) -> Any:
    """All in one application, for Ray's own commands and KubeRay: `dlsp.team.application:build` with the argument
    `config`, the path of the configuration."""
    file = args.get("config") or os.environ.get(CONFIG_VARIABLE)
    if not file:
        raise UserError(f"Give the configuration as the argument `config`, or in {CONFIG_VARIABLE}.")
    served = config.load(Path(str(file)))
    return ingress(served, {each.name: engine(each) for each in served.models})


def ingress(served: Config, models: Mapping[str, Any]) -> Any:
    """What answers HTTP, as a Ray Serve application. `models` are the models' deployments, or handles of such, by the
    models' names."""
    serve = ray_module("ray.serve")
    deployed = serve.deployment(
        serve.ingress()(Ingress),
        name="ingress",
        num_replicas=1,
        max_ongoing_requests=INGRESS_ONGOING,
        max_surge_percent=SURGE_PERCENT,
        ray_actor_options={"num_cpus": 0},
        graceful_shutdown_timeout_s=SHUTDOWN_S,
        graceful_shutdown_wait_loop_s=LEAVING_S,
    )
    return deployed.bind(served, models)


def engine(model: ServedModel, holder: str = HOLDER, router: str = ROUTER, counted: bool = True) -> Any:
    """A model's replicas, as a Ray Serve application. `holder` is the import path of what makes a replica's engine,
    `router` that of Ray's class that chooses the replica for a session. `counted`: replicas take processors from those
    that Ray knows of, as is right on a cluster, where it chooses their machines.

    Replicas on processors are replaced by new ones that are started first. GPUs are seldom free for that: there one
    replica after another ends and is started anew.
    """
    serve, settings = ray_module("ray.serve"), ray_module("ray.serve.config")
    fixed = model.min_replicas == model.max_replicas
    scaling = settings.AutoscalingConfig(
        min_replicas=model.min_replicas,
        max_replicas=model.max_replicas,
        target_ongoing_requests=float(model.ongoing),
        upscale_delay_s=UPSCALE_S,
        downscale_delay_s=DOWNSCALE_S,
    )
    count: dict[str, Any] = {"num_replicas": model.min_replicas} if fixed else {"autoscaling_config": scaling}
    deployment = serve.deployment(
        EngineReplica,
        name=DEPLOYMENT.format(model.name),
        max_ongoing_requests=MAX_ONGOING,
        max_surge_percent=0 if model.gpus else SURGE_PERCENT,
        request_router_config=settings.RequestRouterConfig(request_router_class=router),
        ray_actor_options={"num_cpus": model.threads if counted and not model.gpus else 0, "num_gpus": model.gpus},
        health_check_period_s=HEALTH_PERIOD_S,
        health_check_timeout_s=HEALTH_TIMEOUT_S,
        graceful_shutdown_timeout_s=SHUTDOWN_S,
        graceful_shutdown_wait_loop_s=LEAVING_S,
        **count,
    )
    return deployment.bind(model.name, model.threads, model.gpus, holder)
