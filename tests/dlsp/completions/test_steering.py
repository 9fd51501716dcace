"""The constraint that steers suggestions."""

import pytest

from dlsp.completions.steering import MAX_NAMES, constraint
from dlsp.context.parts import Context, Part

CONTEXT = Context(
    (Part("shop/cart.py", 0, "class Cart:\n    def add_item(self): ...\n", "import"),),
    (Part("a.py", 0, "from shop.cart import Cart\ncart = Cart()\ncart.", "before"),),
    Part("a.py", 3, "\nprix_élevé = 3\n", "behind"),
)


@pytest.mark.parametrize(
    ("steer", "fields"),
    [("off", set()), ("brackets", {"balanced"}), ("names", {"identifiers"}), ("both", {"balanced", "identifiers"})],
)
def test_what_the_setting_asks_for(steer: str, fields: set[str]) -> None:
    assert constraint(steer, CONTEXT, "a.py").keys() == fields


def test_names_are_those_that_the_model_sees() -> None:
    names = constraint("names", CONTEXT, "a.ts")["identifiers"]
    assert {"Cart", "add_item", "cart", "prix_élevé"} <= set(names)
    assert "append" not in names
    assert {"append", "len", "add_item"} <= set(constraint("names", CONTEXT, "a.py")["identifiers"])


def test_there_are_not_more_than_the_engine_takes() -> None:
    many = Part("b.py", 0, " ".join(f"name_{number}" for number in range(2 * MAX_NAMES)), "recent")
    assert (
        len(constraint("names", Context((many,), CONTEXT.prefix, CONTEXT.suffix), "a.py")["identifiers"]) == MAX_NAMES
    )


def test_nothing_known_requires_nothing() -> None:
    assert constraint("names", Context((), (), Part("a.ts", 0, "", "behind")), "a.ts") == {}
