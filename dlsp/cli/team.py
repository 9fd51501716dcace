"""`dlsp team`: one server for a team, and its users' tokens."""

import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from dlsp.cli._common import add_group
from dlsp.errors import UserError


def add(subparsers: Any) -> None:
    """Register `dlsp team …` with argparse's sub-parsers."""
    group = subparsers.add_parser("team", help="serve a team, and look after its users' tokens")
    commands = group.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve a team until it is ended")
    serve.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file")
    serve.set_defaults(run=serve_config)
    check = commands.add_parser("check", help="see whether a configuration is right")
    check.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file")
    check.set_defaults(run=check_config)
    tokens = (
        ("make", make, "make a token for a user, and print it once"),
        ("list", list_, "the tokens that are valid, without their text"),
        ("revoke", revoke, "make a user's tokens invalid"),
    )
    parsers = add_group(commands, "token", "make, list and revoke users' tokens", tokens)
    for name in ("make", "revoke"):
        parsers[name].add_argument("user", metavar="USER", help="a name, such as an address of e-mail")
    parsers["revoke"].add_argument("--number", type=int, help="of the one token to revoke; default: all of the user's")
    for parser in parsers.values():
        _add_file(parser)


def _add_file(parser: ArgumentParser) -> None:
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="the file of their hashes, as in the configuration")


def serve_config(args: Namespace) -> int:
    if sys.platform == "win32":
        raise UserError("A team's server runs on Linux and macOS; from Windows use one by the setting `server`.")
    from dlsp.team import config, running

    running.serve_until_ended(lambda: config.load(args.config), lambda line: print(line, file=sys.stderr, flush=True))
    return 0


def check_config(args: Namespace) -> int:
    from dlsp.team import config

    found = config.load(args.config)
    models = ", ".join(f"{each.name} ({each.min_replicas} to {each.max_replicas} replicas)" for each in found.models)
    print(f"{args.config} is right: it serves {models} at {found.host}, port {found.port}.")
    return 0


def make(args: Namespace) -> int:
    from dlsp.team import tokens

    file = args.tokens or tokens.default_file()
    token = tokens.make(file, args.user)
    print(f"The token of {args.user}, which is shown this once; {file} has its hash:", file=sys.stderr, flush=True)
    print(token)
    return 0


def list_(args: Namespace) -> int:
    from dlsp.team import tokens

    for each in tokens.read(args.tokens or tokens.default_file()):
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.made))
        print(f"{each.number:4}  made {made}  {each.user}")
    return 0


def revoke(args: Namespace) -> int:
    from dlsp.team import tokens
    from dlsp.wording import count

    revoked = tokens.revoke(args.tokens or tokens.default_file(), args.user, args.number)
    print(f"{count(revoked, 'token')} of {args.user} revoked.")
    return 0
