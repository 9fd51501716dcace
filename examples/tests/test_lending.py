"""Run with `python -m pytest` in the folder `examples`."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from lending import report
from lending.cli import parse, run
from lending.fines import as_money, fine, total_fine
from lending.models import LOAN_DAYS, Book, Loan, Member
from lending.store import LendingError, Library

TODAY = date(2025, 3, 1)
ADA, BEN = Member(1, "Ada"), Member(2, "Ben", is_student=True)


@pytest.fixture
def library() -> Library:
    library = Library()
    library.add_book(Book("1", "Emma", "Austen", copies=2))
    library.add_book(Book("2", "Dune", "Herbert"))
    library.add_member(ADA)
    library.add_member(BEN)
    return library


def late(days: int, member: Member = ADA) -> Loan:
    return Loan("1", member.number, TODAY - timedelta(days=LOAN_DAYS + days))


@pytest.mark.parametrize(
    ("days", "member", "cents"), [(0, ADA, 0), (2, ADA, 0), (3, ADA, 25), (4, BEN, 25), (99, ADA, 1000)]
)
def test_fine(days: int, member: Member, cents: int) -> None:
    assert fine(late(days, member), member, TODAY) == cents


def test_total_and_money() -> None:
    assert as_money(total_fine([late(6), late(3), late(9, BEN)], ADA, TODAY)) == "1.25"


def test_borrow_and_return(library: Library) -> None:
    library.borrow("2", 1, TODAY)
    assert library.available("2") == 0
    with pytest.raises(LendingError, match="Dune is out"):
        library.borrow("2", 2, TODAY)
    library.give_back("2", 1, TODAY)
    assert library.available("2") == 1
    with pytest.raises(LendingError):
        library.give_back("2", 1, TODAY)


def test_reports(library: Library) -> None:
    library.loans += [late(1), late(5, BEN), Loan("2", 1, TODAY)]
    assert [loan.member for loan in report.overdue(library, TODAY)] == [2, 1]
    assert "Ben                  Emma" in report.overdue_report(library, TODAY)
    assert report.popular(library, 1) == [("Emma", 2)]
    assert report.debts(library, TODAY).split() == ["Ben", "0.37"]


def test_saved_and_loaded(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "library.json"
    run(parse(["--today", "2025-03-01", "borrow", "1", "2"]), library)
    library.save(file)
    loaded = Library.load(file)
    assert (loaded.books, loaded.members, loaded.loans) == (library.books, library.members, library.loans)
