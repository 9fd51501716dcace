"""`dlsp serve`: the language server."""

import sys
from argparse import Namespace
from typing import Any

from dlsp.errors import UserError


def add(subparsers: Any) -> None:
    """Register `dlsp serve` with argparse's sub-parsers."""
    serve = subparsers.add_parser("serve", help="run the language server for one editor")
    serve.add_argument("--stdio", action="store_true", help="on standard input and output, the only way")
    serve.set_defaults(run=run)


def run(args: Namespace) -> int:
    if sys.stdin.isatty():
        raise UserError("`dlsp serve` talks to an editor on standard input and output; let the editor start it.")
    from dlsp.server.transport import serve

    return serve()
