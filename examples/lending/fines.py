"""How much a late return costs, in cents."""

from datetime import date

from lending.models import Loan, Member

CENTS_PER_DAY = 25
HIGHEST_FINE = 1000
FREE_DAYS = 2


def fine(loan: Loan, member: Member, today: date) -> int:
    """The fine for one loan, up to a limit.

    The first days are free and students pay half.
    """
    days = loan.days_late(today) - FREE_DAYS
    if days <= 0:
        return 0
    cents = days * CENTS_PER_DAY
    if member.is_student:
        cents //= 2
    return min(cents, HIGHEST_FINE)


def total_fine(loans: list[Loan], member: Member, today: date) -> int:
    """What a member owes for all loans."""
    return sum(fine(loan, member, today) for loan in loans if loan.member == member.number)


def as_money(cents: int) -> str:
    """For example `3.50`."""
    return f"{cents // 100}.{cents % 100:02}"
