"""Reports as plain text."""

from collections import Counter
from datetime import date

from lending.fines import as_money, total_fine
from lending.models import Loan
from lending.store import Library


def overdue(library: Library, today: date) -> list[Loan]:
    """Open loans past their due date, the latest first."""
    late = [loan for loan in library.open_loans() if loan.due < today]
    return sorted(late, key=lambda loan: loan.due)


def overdue_report(library: Library, today: date) -> str:
    """One line for each overdue loan."""
    lines = []
    for loan in overdue(library, today):
        book = library.books[loan.isbn]
        member = library.members[loan.member]
        lines.append(f"{member.name:20} {book.title:30} {loan.days_late(today):3} days")
    return "\n".join(lines) or "Nothing is overdue."


def popular(library: Library, count: int = 3) -> list[tuple[str, int]]:
    """The titles that were lent most often, with how often."""
    loans = Counter(loan.isbn for loan in library.loans)
    top = loans.most_common(count)
    return [(library.books[isbn].title, times) for isbn, times in top]


def debts(library: Library, today: date) -> str:
    """One line for each member who owes something."""
    lines = []
    for member in library.members.values():
        owed = total_fine(library.loans, member, today)
        if owed > 0:
            lines.append(f"{member.name:20} {as_money(owed):>8}")
    return "\n".join(lines) or "Nobody owes anything."
