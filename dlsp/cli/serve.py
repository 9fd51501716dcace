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
    serve.add_argument("--port", type=int, default=PORT, metavar="N", help=f"with --tcp; default: {PORT}")
    serve.set_defaults(run=run)


def run(args: Namespace) -> int:
    from dlsp.server.serve import serve, serve_tcp

    if args.tcp:
        try:
            serve_tcp(args.port)
        except (OSError, OverflowError) as error:
            raise UserError(f"Port {args.port} cannot be used ({error}): give another with --port.") from None
    if sys.stdin.isatty():
        raise UserError("`dlsp serve` talks to an editor on standard input and output; let the editor start it.")
    serve()
    return 0
