"""Jobs done again from a capture: the same, with what stands at their places then."""

# pyright: reportArgumentType=false
# llvmlite's types are found wrongly.

from collections.abc import Callable
from functools import cache

import pytest
import torch
from llvmlite import ir
from torch import Tensor

from dlsp_kernels.program.capture import Capture, Memory, empty
from dlsp_kernels.program.compiled import compiled
from dlsp_kernels.program.instructions import usable
from dlsp_kernels.program.writing import INT, LONG, Entry, at, load, store

pytestmark = [
    pytest.mark.skipif(usable() is None, reason="no program runs here"),
    pytest.mark.usefixtures("threads_after"),
]


@cache
def program(name: str) -> Callable[..., None]:
    """y = x + more; if it is named so, what is done `before` puts 100 into all of y, and x is added to that."""
    module = ir.Module()
    for function in ("before", "run") if name == "before" else ("run",):
        entry = Entry.of(module, "x y", "more", function)
        b, (x, y, more) = entry.b, entry.given
        with entry.each() as item:
            of_item = b.mul(item, LONG(4))
            here = at(b, y, of_item)
            if function == "before":
                store(b, INT(100), here)
            else:
                value = b.add(load(b, at(b, x, of_item), INT), b.trunc(more, INT))
                store(b, b.add(value, load(b, here, INT)) if name == "before" else value, here)
        b.ret_void()
    kind = usable()
    assert kind
    return compiled(str(module), "x y", "more", kind)


def added(x: Tensor, more: int, name: str = "plain", alone: int = 0) -> Tensor:
    y = empty(len(x), dtype=torch.int32)
    program(name)(x, y, more, items=len(x), alone=alone)
    return y


def numbers(count: int, start: int = 0) -> Tensor:
    return torch.arange(start, start + count, dtype=torch.int32)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("items", [1, 5, 10_000])
def test_it_does_again_what_was_done(threads: int, items: int):
    torch.set_num_threads(threads)
    x, capture = numbers(items), Capture(Memory())
    with capture.taken():
        y = added(added(added(x, 1), 10, alone=8), 0, "before")
    assert torch.equal(y, numbers(items, 111)), "it is done while it is taken"
    for start in (5, 70):
        x.copy_(numbers(items, start))
        capture.again()
        assert torch.equal(y, numbers(items, start + 111))


def test_what_is_done_elsewhere_is_not_taken():
    x, capture = numbers(3), Capture(Memory())
    with capture.taken():
        y = added(x, 1)
    other = added(x, 1)
    x += 5
    capture.again()
    assert torch.equal(y, numbers(3, 6))
    assert torch.equal(other, numbers(3, 1))


def test_a_place_is_free_when_nothing_refers_to_it():
    memory = Memory()
    first = memory.empty(4, 6, dtype=torch.float32)
    place, view = first.data_ptr(), first[2:, 1:]
    del first
    second = memory.empty(4, 6, dtype=torch.float32)
    assert second.data_ptr() != place, "a view of it is left"
    assert view in memory
    assert second in memory
    assert torch.empty(3) not in memory
    del view
    assert memory.empty(4, 6, dtype=torch.float32).data_ptr() == place


@pytest.mark.parametrize("shape", [(1,), (3, 5), (64,), (65, 7), (1000, 1)])
def test_there_is_room_for_what_is_made(shape: tuple[int, ...]):
    memory = Memory()
    made = [memory.empty(*shape, dtype=kind) for kind in (torch.uint8, torch.float32, torch.int64)]
    for number, each in enumerate(made):
        assert each.shape == shape
        each.fill_(number)
    assert all((each == number).all() for number, each in enumerate(made))


def test_captures_share_memory_one_after_the_other():
    memory, x, y = Memory(), numbers(50), numbers(50, 1000)

    def taken(of: Tensor, more: int) -> tuple[Capture, Tensor]:
        capture, result = Capture(memory), torch.empty(50, dtype=torch.int32)
        with capture.taken():
            program("plain")(added(added(of, more), more), result, more, items=50)
        return capture, result

    (one, of_x), (other, of_y) = taken(x, 1), taken(y, 2)
    for _ in range(3):
        x += 1
        y += 1
        one.again()
        other.again()
        assert torch.equal(of_x, x + 3)
        assert torch.equal(of_y, y + 6)
    assert len(memory._blocks) == 2, "both take the same two"


def test_what_jobs_read_is_kept():
    capture = Capture(Memory())
    with capture.taken():
        y = added(numbers(100_000), 1)
    del_me = [numbers(100_000, 5) for _ in range(5)]  # would take the place of what is not
    capture.again()
    assert torch.equal(y, numbers(100_000, 1))
    assert len(del_me) == 5


def test_a_capture_that_failed_leaves_no_trace():
    capture = Capture(Memory())
    with pytest.raises(IndexError), capture.taken():
        added(numbers(0)[1:][0], 1)
    assert empty(3) not in capture.memory
