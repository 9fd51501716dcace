"""Texts to extract from, each with what a chat is asked and the constraint that the answer keeps to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TEXT, NUMBER, WHOLE, TRUTH = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}


@dataclass(frozen=True, eq=False)
class Case:
    """`question` is the user's message, `constraint` that of the request."""

    name: str
    question: str
    constraint: dict[str, Any]

    @property
    def kind(self) -> str:
        return next(iter(self.constraint))


# Name, the object's fields, and a text that says them.
OBJECTS: list[tuple[str, dict[str, Any], str]] = [
    ("person", {"name": TEXT, "born": WHOLE, "city": TEXT}, "Ada Lovelace was born in London in 1815."),
    (
        "order",
        {"item": TEXT, "quantity": WHOLE, "price": NUMBER, "paid": TRUTH},
        "She ordered 3 boxes of tea for 12.50 each and has paid.",
    ),
    (
        "book",
        {"title": TEXT, "author": TEXT, "year": WHOLE, "tags": {"type": "array", "items": TEXT}},
        "Dune, a novel by Frank Herbert of 1965, is about politics, religion and ecology.",
    ),
    (
        "event",
        {"title": TEXT, "date": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}, "place": TEXT},
        "The team meets in Berlin on the third of May 2024 to plan the release.",
    ),
    (
        "ticket",
        {"priority": {"enum": ["low", "medium", "high"]}, "component": TEXT, "reproducible": TRUTH},
        "The login page crashes each time a name has an umlaut; this must be mended today.",
    ),
    (
        "route",
        {"from": TEXT, "to": TEXT, "stops": {"type": "array", "items": TEXT}, "km": NUMBER},
        "The train goes from Paris to Lyon, 465 km, and stops in Dijon and Mâcon.",
    ),
    (
        "package",
        {"name": TEXT, "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}, "licence": TEXT},
        "requests 2.32.3 is published under the licence Apache-2.0.",
    ),
    (
        "weather",
        {
            "city": TEXT,
            "celsius": NUMBER,
            "wind": {
                "type": "object",
                "properties": {"speed": NUMBER, "direction": {"enum": ["N", "E", "S", "W"]}},
                "required": ["speed", "direction"],
                "additionalProperties": False,
            },
        },
        "It is 21 degrees in Oslo, with a northern wind of 12 km/h.",
    ),
    (
        "function",
        {"name": TEXT, "parameters": {"type": "array", "items": TEXT}, "returns": TEXT},
        "def area(width: float, height: float) -> float: ...",
    ),
    (
        "invoice",
        {"number": TEXT, "total": NUMBER, "currency": {"enum": ["EUR", "USD", "GBP"]}, "due_days": WHOLE},
        "Invoice A-1027 over 420 euros has to be paid within 30 days.",
    ),
    (
        "recipe",
        {"dish": TEXT, "minutes": WHOLE, "ingredients": {"type": "array", "items": TEXT}},
        "Pancakes take 20 minutes and need flour, eggs, milk and salt.",
    ),
    (
        "server",
        {"host": TEXT, "port": {"type": "integer", "minimum": 1, "maximum": 65535}, "tls": TRUTH},
        "The database listens on db.example.org, port 5432, without encryption.",
    ),
]

# Name, question, and the pattern of the answer.
PATTERNS: list[tuple[str, str, str]] = [
    ("date", "On which day did people first walk on the moon? Write only the date, as YYYY-MM-DD.", r"\d{4}-\d\d-\d\d"),
    ("call", "Write only a Python call of print with three words.", r'print\("[a-z]+"(, "[a-z]+"){2}\)'),
    ("assignments", "Assign numbers to a, b, c and d in Python.", r"([a-z] = \d{1,3}\n){4}"),
    ("colours", "Name five colours of CSS, separated by commas.", r"[a-z]+(, [a-z]+){4}"),
    ("address", "What is the e-mail address of Ada at example.org?", r"[a-z.]+@[a-z.]+\.[a-z]{2,5}"),
    ("import", "Import the function join of os.path in Python.", r"(from [a-z.]+ )?import [a-z]+(, [a-z]+)*"),
]


def cases() -> Iterator[Case]:
    for name, fields, text in OBJECTS:
        schema = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
        question = f"Write JSON with the fields {', '.join(fields)} for this text, and nothing else: {text}"
        yield Case(name, question, {"json_schema": schema})
    for name, question, pattern in PATTERNS:
        yield Case(name, question, {"regex": pattern})
