"""Wait for the engine, and show what it is doing meanwhile."""

from rich.console import Console

from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.models.catalogue import Model


async def engine_of(model: Model) -> Engine:
    """The running engine of `model`, started if need be, with its progress on stderr."""
    if engine := await launch.connect(model):
        return engine
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        return await launch.ensure(model, lambda line: console.print(line, markup=False, soft_wrap=True))
    with console.status(f"Starting the engine of {model.name}") as status:
        return await launch.ensure(model, lambda line: status.update(line.replace("[", r"\[")))
