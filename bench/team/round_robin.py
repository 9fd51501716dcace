"""A router that gives each request to the next replica, whatever its session: what affinity is compared with."""

from typing import Any

from ray.serve.request_router import RequestRouter  # pyright: ignore[reportMissingImports]


class RoundRobin(RequestRouter):
    """Ray imports it by its path."""

    _next = 0

    async def choose_replicas(self, candidate_replicas: list[Any], pending_request: Any = None) -> list[list[Any]]:
        in_order = sorted(candidate_replicas, key=lambda each: each.replica_id.unique_id)
        if not in_order:
            return []
        self._next += 1
        first = self._next % len(in_order)
        return [[each] for each in in_order[first:] + in_order[:first]]
