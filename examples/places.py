"""Places in the project `lending` that are completed: each with the text that is taken out there."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Place:
    """A gap in a file: it comes after `anchor`, where the file has `removed`; both together occur once."""

    file: str
    anchor: str
    removed: str

    def around(self) -> tuple[str, str]:
        """The file's text before and after the gap."""
        before, after = (FOLDER / self.file).read_text(encoding="utf-8").split(self.anchor + self.removed)
        return before + self.anchor, after


PLACES = (
    Place("lending/models.py", "return self.taken + ", "timedelta(days=LOAN_DAYS)"),
    Place("lending/fines.py", "return min(", "cents, HIGHEST_FINE"),
    Place("lending/store.py", "loan = Loan(", "isbn, member, today"),
    Place(
        "lending/store.py",
        "for it in self.books.values()],\n            ",
        '"members": [asdict(it) for it in self.members.values()],',
    ),
    Place(
        "lending/report.py",
        "if owed > 0:\n            ",
        'lines.append(f"{member.name:20} {as_money(owed):>8}")',
    ),
    Place(
        "lending/report.py",
        '"""The titles that were lent most often, with how often."""\n    ',
        "loans = Counter(loan.isbn for loan in library.loans)\n"
        "    top = loans.most_common(count)\n"
        "    return [(library.books[isbn].title, times) for isbn, times in top]",
    ),
)
