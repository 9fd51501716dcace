"""The library's records, kept in one JSON file."""

import json
from dataclasses import asdict
from datetime import date
from pathlib import Path

from lending.models import Book, Loan, Member

MOST_LOANS = 5


class LendingError(Exception):
    """Something the rules do not allow."""


class Library:
    """Books by ISBN, members by number, and every loan there ever was."""

    def __init__(self) -> None:
        self.books: dict[str, Book] = {}
        self.members: dict[int, Member] = {}
        self.loans: list[Loan] = []

    def add_book(self, book: Book) -> None:
        self.books[book.isbn] = book

    def add_member(self, member: Member) -> None:
        self.members[member.number] = member

    def open_loans(self, member: int | None = None) -> list[Loan]:
        """Loans not yet returned, of one member or of all."""
        return [loan for loan in self.loans if loan.is_open and member in (None, loan.member)]

    def available(self, isbn: str) -> int:
        """How many copies of a book are on the shelf."""
        out = sum(loan.isbn == isbn for loan in self.open_loans())
        return self.books[isbn].copies - out

    def borrow(self, isbn: str, member: int, today: date) -> Loan:
        """Lend a copy; raises LendingError if there is none or the member has too many books already."""
        if isbn not in self.books:
            raise LendingError(f"there is no book {isbn}")
        if member not in self.members:
            raise LendingError(f"there is no member {member}")
        if self.available(isbn) < 1:
            raise LendingError(f"{self.books[isbn].title} is out")
        if len(self.open_loans(member)) >= MOST_LOANS:
            raise LendingError(f"member {member} has {MOST_LOANS} books")
        loan = Loan(isbn, member, today)
        self.loans.append(loan)
        return loan

    def give_back(self, isbn: str, member: int, today: date) -> Loan:
        """Close the member's oldest open loan of a book."""
        for loan in self.open_loans(member):
            if loan.isbn == isbn:
                loan.returned = today
                return loan
        raise LendingError(f"member {member} has not borrowed {isbn}")

    def save(self, path: Path) -> None:
        records = {
            "books": [asdict(it) for it in self.books.values()],
            "members": [asdict(it) for it in self.members.values()],
            "loans": [asdict(it) for it in self.loans],
        }
        text = json.dumps(records, indent=2, default=date.isoformat)
        path.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Library":
        """The library in a file; an empty one if there is no file yet."""
        library = cls()
        if not path.exists():
            return library
        records = json.loads(path.read_text(encoding="utf-8"))
        for book in records["books"]:
            library.add_book(Book(**book))
        for member in records["members"]:
            library.add_member(Member(**member))
        for loan in records["loans"]:
            library.loans.append(_loan(loan))
        return library


def _loan(record: dict[str, str | int | None]) -> Loan:
    """A loan from its JSON record, in which dates are text."""
    returned = record["returned"]
    return Loan(
        isbn=str(record["isbn"]),
        member=int(record["member"] or 0),
        taken=date.fromisoformat(str(record["taken"])),
        returned=date.fromisoformat(str(returned)) if returned else None,
    )
