"""What the library knows about: books, members and loans."""

from dataclasses import dataclass
from datetime import date, timedelta

LOAN_DAYS = 21


@dataclass(frozen=True)
class Book:
    isbn: str
    title: str
    author: str
    copies: int = 1


@dataclass(frozen=True)
class Member:
    number: int
    name: str
    is_student: bool = False


@dataclass
class Loan:
    isbn: str
    member: int
    taken: date
    returned: date | None = None

    @property
    def due(self) -> date:
        """The last day to bring the book back without a fine."""
        return self.taken + timedelta(days=LOAN_DAYS)

    @property
    def is_open(self) -> bool:
        return self.returned is None

    def days_late(self, today: date) -> int:
        """Days past the due date, up to the return or today."""
        end = self.returned or today
        return max(0, (end - self.due).days)
