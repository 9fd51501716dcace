"""The library on the command line: `python -m lending.cli borrow 978-0 1`."""

import argparse
import sys
from datetime import date
from pathlib import Path

from lending import report
from lending.models import Book, Member
from lending.store import LendingError, Library


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lending")
    parser.add_argument("--file", type=Path, default=Path("library.json"))
    parser.add_argument("--today", type=date.fromisoformat, default=date.today())
    commands = parser.add_subparsers(dest="command", required=True)

    book = commands.add_parser("book", help="add a book")
    book.add_argument("isbn")
    book.add_argument("title")
    book.add_argument("author")
    book.add_argument("--copies", type=int, default=1)

    member = commands.add_parser("member", help="add a member")
    member.add_argument("number", type=int)
    member.add_argument("name")
    member.add_argument("--student", action="store_true")

    for name in ("borrow", "return"):
        command = commands.add_parser(name)
        command.add_argument("isbn")
        command.add_argument("member", type=int)

    commands.add_parser("overdue", help="what is late")
    commands.add_parser("debts", help="who owes what")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace, library: Library) -> str:
    """Carry out one command and say what happened."""
    if args.command == "book":
        library.add_book(Book(args.isbn, args.title, args.author, args.copies))
        return f"added {args.title}"
    if args.command == "member":
        library.add_member(Member(args.number, args.name, args.student))
        return f"added {args.name}"
    if args.command == "borrow":
        loan = library.borrow(args.isbn, args.member, args.today)
        return f"due on {loan.due}"
    if args.command == "return":
        loan = library.give_back(args.isbn, args.member, args.today)
        return f"returned {loan.days_late(args.today)} days late"
    if args.command == "overdue":
        return report.overdue_report(library, args.today)
    return report.debts(library, args.today)


def main() -> int:
    args = parse()
    library = Library.load(args.file)
    try:
        print(run(args, library))
    except LendingError as error:
        print(f"lending: {error}", file=sys.stderr)
        return 1
    library.save(args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
