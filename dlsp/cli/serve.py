"""`dlsp serve`: the language server."""

import sys
from argparse import Namespace
from typing import Any

from dlsp.errors import UserError

PORT = 2087


def add(subparsers: Any) -> None:
    """Register `dlsp serve` with argparse's sub-parsers."""
    serve = subparsers.add_parser("serve", help="run the language server for one editor")
    serve.add_argument("--stdio", action="store_true", help="on standard input and output (the default)")
    serve.add_argument("--tcp", action="store_true", help="for any editor that connects to a port of this machine")
    serve.add_argument("--port", type=int, metavar="N", help=f"with --tcp; default: {PORT}")
    serve.set_defaults(run=run)


def run(args: Namespace) -> int:
    if args.stdio and args.tcp:
        raise UserError("--stdio and --tcp exclude each other: give one of them.")
    if args.port is not None and not args.tcp:
        raise UserError(f"A port is for --tcp alone: write `dlsp serve --tcp --port {args.port}`.")
    from dlsp.server.serve import serve, serve_tcp

    if args.tcp:
        port = PORT if args.port is None else args.port
        try:
            serve_tcp(port)
        except (OSError, OverflowError) as error:
            raise UserError(f"Port {port} cannot be used ({error}): give another with --port.") from None
    if sys.stdin.isatty():
        raise UserError("`dlsp serve` talks to an editor on standard input and output; let the editor start it.")
    return serve()
