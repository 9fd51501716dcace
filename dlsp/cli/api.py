"""`dlsp api`: other clients' HTTP interfaces, before the engine of one model."""

import asyncio
import os
import sys
from argparse import Namespace
from typing import Any

from dlsp.errors import UserError

PORT = 8787
# Where clients look for the servers whose interfaces these are.
WELL_KNOWN_PORTS = {"llama.cpp": 8012, "ollama": 11434, "tabby": 8080, "sweep": 8081}
KEY_VARIABLE = "DLSP_API_KEY"


def add(subparsers: Any) -> None:
    """Register `dlsp api` with argparse's sub-parsers."""
    api = subparsers.add_parser("api", help="serve other clients: OpenAI's, llama.cpp's, Ollama's and other interfaces")
    api.add_argument("--port", type=int, action="append", help=f"default: {PORT}; may be given several times")
    as_help = "also listen where clients of this server look for it: " + ", ".join(
        f"{name} {port}" for name, port in WELL_KNOWN_PORTS.items()
    )
    api.add_argument("--as", dest="known", action="append", choices=WELL_KNOWN_PORTS, help=as_help)
    api.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine alone")
    api.add_argument("--key", help=f"what clients must send; better given in {KEY_VARIABLE}, which others cannot see")
    api.add_argument("--no-key", action="store_true", help="answer every program of this user on this machine")
    api.add_argument("--dialects", nargs="+", metavar="NAME", help="default: all")
    api.add_argument("--model", default=None, metavar="NAME", help="default: the one for this machine")
    api.set_defaults(run=run)


def run(args: Namespace) -> int:
    from dlsp.api import peers
    from dlsp.api.app import DIALECTS
    from dlsp.api.listener import LOOPBACK_HOSTS, listen

    key = args.key or os.environ.get(KEY_VARIABLE) or None
    local = args.host in LOOPBACK_HOSTS
    if args.no_key and key:
        raise UserError("Give a key or --no-key, not both.")
    if key is None and not args.no_key:
        raise UserError(f"Choose: a key in {KEY_VARIABLE}, or --no-key for clients of yours that can send none.")
    if key is None and not local:
        raise UserError(f"On {args.host} other machines can connect: give a key in {KEY_VARIABLE}.")
    if key is None and not peers.can_be_known():
        raise UserError(
            f"Whose program connects cannot be known on this system: give a key in {KEY_VARIABLE} instead of --no-key."
        )
    dialects = tuple(args.dialects or DIALECTS)
    if unknown := [each for each in dialects if each not in DIALECTS]:
        raise UserError(f"There is no dialect '{unknown[0]}': choose of {', '.join(DIALECTS)}.")
    known = [WELL_KNOWN_PORTS[each] for each in args.known or ()]
    ports = list(dict.fromkeys((args.port or ([] if known else [PORT])) + known))
    if wrong := [each for each in ports if not 0 < each < 65536]:
        raise UserError(f"{wrong[0]} is no port: choose one from 1 to 65535.")
    sockets = listen("127.0.0.1" if local and args.host == "localhost" else args.host, ports)
    return asyncio.run(_serve(args, key, sockets, ports, dialects))


async def _serve(
    args: Namespace, key: str | None, sockets: list[Any], ports: list[int], dialects: tuple[str, ...]
) -> int:
    from dlsp.api.admission import LOOPBACK_HOSTS
    from dlsp.api.app import app
    from dlsp.api.server import Server
    from dlsp.api.wire import Service
    from dlsp.cli._common import engine_of
    from dlsp.engine.connection import EngineConnection, SilentListener
    from dlsp.models.sizing import AUTO, named

    model = named(args.model or AUTO)
    await (await engine_of(model)).close()  # the first start, with its progress
    connection = EngineConnection(model, SilentListener())
    if not await connection.ready():
        raise UserError(f"The engine of {model.short} does not answer; see `dlsp engine status`.")
    service = Service.of(connection, model)
    local = args.host in ("127.0.0.1", "localhost", "::1")
    server = Server(app(service, key, LOOPBACK_HOSTS if local else None, dialects), same_user=key is None)
    for port in ports:
        host = f"[{args.host}]" if ":" in args.host else args.host
        print(f"{model.name} is served at http://{host}:{port}", file=sys.stderr)
    try:
        await server.run_on(sockets)
    finally:
        await connection.close()
    return 0
