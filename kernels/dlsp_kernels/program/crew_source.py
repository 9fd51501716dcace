"""Writes, in LLVM IR, the code by which threads share the items of a kernel.

One 32-bit word, the gate, coordinates them. Its layout:

    | bits    | name   | content                            |
    | ------- | ------ | ---------------------------------- |
    | 31 … 16 | job    | the number of the job              |
    | 15      | open   | 1 if helpers may enter             |
    | 14 … 0  | inside | the number of helpers inside       |

A helper enters by adding 1 to an open gate with a compare-and-swap, so it never sees a half-written job. At the end the
caller closes the gate, and waits until `inside` is 0. A helper that the system has not scheduled has not entered, and
so nobody waits for it.

Each worker has a contiguous share of the items. It takes chunk after chunk of its own share, then what is left of the
others'. So a worker finds in its caches what it used in the call before, and reads memory sequentially.
"""

from enum import IntEnum
from typing import NamedTuple

from llvmlite import ir

from dlsp_kernels.program.system import System
from dlsp_kernels.program.writing import BIT, INT, LONG, NOTHING, POINTER, Loop, at, function, load, share

OPEN, NEXT_JOB = 1 << 15, 1 << 16
"""Parts of the gate: the bit `open`, and 1 in the field `job`."""

SPINS = 4000
"""How often a helper reads the gate before it sleeps. This takes about 0.1 ms, longer than Python from one kernel to
the next.
"""


class At(IntEnum):
    """The offset in bytes of each part of the state. What different threads write is on different cache lines.

    | part          | content                                                        |
    | ------------- | -------------------------------------------------------------- |
    | GATE          | int32: the gate                                                |
    | ASLEEP        | int32: the number of helpers that sleep                        |
    | BUSY          | int32: 1 while a thread is in `work`                           |
    | DISMISSED     | int32: 1 after `dismiss`                                       |
    | RUN … WORKERS | 5 x 8 bytes: the job                                           |
    | NEXT          | int64 per worker, LINE bytes apart: the next item of its share |
    """

    GATE = 0
    ASLEEP = 64
    BUSY = 128
    DISMISSED = 132
    RUN = 192
    TASK = 200
    ITEMS = 208
    CHUNK = 216
    WORKERS = 224
    NEXT = 256  # see above


SHARES = 8
"""The number of chunks in a worker's share. A worker takes one chunk at a time."""


class Job(NamedTuple):
    """A job of `work_all`, in 8 bytes per field: the addresses of `run` and of its task, then `items` and `alone` as in
    `work`.
    """

    run: int
    task: int
    items: int
    alone: int


LINE, MOST = 64, 256
"""The bytes of a cache line, and the most workers."""

SIZE = At.NEXT + LINE * MOST


def source(system: System) -> str:
    """The LLVM IR of four functions:

    - `work(state, run, task, items, alone, workers)` calls `run(task, begin, end, worker)` for all items, and returns
      when all are done. The caller does all items alone if there is one item or at most `alone`, if there is one
      worker, or while another thread is in `work`.
    - `work_all(state, jobs, count, workers)` does this for each of at least one `Job`.
    - `help(state, number)` is what a helper thread runs. It returns after `dismiss`.
    - `dismiss(state)` makes all helpers return.
    """
    module = ir.Module()
    take = _take(module)
    _work_all(module, _work(module, take, system))
    _help(module, take, system)
    _dismiss(module, system)
    return str(module)


RUN = ir.FunctionType(NOTHING, [POINTER, LONG, LONG, LONG])


def _take(module: ir.Module) -> ir.Function:
    """A function that does chunk after chunk of the worker's own share, then of the others', until no item is left."""
    made = function(module, "take", NOTHING, [POINTER, LONG])
    made.linkage = "internal"
    b, (state, worker) = ir.IRBuilder(made.append_basic_block()), made.args
    run, items, chunk, workers = (load(b, at(b, state, p), LONG) for p in (At.RUN, At.ITEMS, At.CHUNK, At.WORKERS))
    task = load(b, at(b, state, At.TASK), POINTER)
    turn = Loop(b, LONG(0), workers)
    whose = b.urem(b.add(worker, turn.index), workers)
    following = _next(b, state, whose)
    _, last = share(b, items, whose, workers)
    more, some, none = (made.append_basic_block() for _ in range(3))
    b.branch(more)

    b.position_at_end(more)
    begin = b.atomic_rmw("add", following, chunk, "acq_rel")
    b.cbranch(b.icmp_unsigned("<", begin, last), some, none)

    b.position_at_end(some)
    end = b.add(begin, chunk)
    end = b.select(b.icmp_unsigned("<", end, last), end, last)
    _call(b, run, [task, begin, end, worker])
    b.branch(more)

    b.position_at_end(none)
    turn.close()
    b.ret_void()
    return made


def _work(module: ir.Module, take: ir.Function, system: System) -> ir.Function:
    made = function(module, "work", NOTHING, [POINTER, LONG, POINTER, LONG, LONG, LONG])
    b, (state, run, task, items, few, workers) = ir.IRBuilder(made.append_basic_block()), made.args
    part = b.udiv(items, b.mul(LONG(SHARES), workers))
    part = b.select(b.icmp_unsigned("<", LONG(1), part), part, LONG(1))
    chunk = b.select(b.icmp_unsigned("<=", items, few), items, part)
    several, alone, opened, waiting, done = (made.append_basic_block() for _ in range(5))
    shared = b.and_(b.icmp_unsigned("<", chunk, items), b.icmp_unsigned("<", LONG(1), workers))
    b.cbranch(shared, several, alone)

    b.position_at_end(several)
    free = b.cmpxchg(at(b, state, At.BUSY), INT(0), INT(1), "acq_rel", "monotonic")
    b.cbranch(b.extract_value(free, 1), opened, alone)

    b.position_at_end(alone)
    with b.if_then(b.icmp_unsigned("<", LONG(0), items)):
        _call(b, run, [task, LONG(0), items, LONG(0)])
    b.ret_void()

    b.position_at_end(opened)
    job = {At.RUN: run, At.TASK: task, At.ITEMS: items, At.CHUNK: chunk, At.WORKERS: workers}
    for place, value in job.items():
        b.store(value, at(b, state, place))
    each = Loop(b, LONG(0), workers)
    b.store(share(b, items, each.index, workers)[0], _next(b, state, each.index))
    each.close()
    gate = at(b, state, At.GATE)
    number = b.add(b.and_(_look(b, gate), INT(-NEXT_JOB)), INT(NEXT_JOB))
    b.atomic_rmw("xchg", gate, b.or_(number, INT(OPEN)), "seq_cst")
    with b.if_then(b.icmp_unsigned("<", INT(0), _look(b, at(b, state, At.ASLEEP), "seq_cst"))):
        system.wake(b, gate)
    b.call(take, [state, LONG(0)])
    b.atomic_rmw("and", gate, INT(~OPEN), "acq_rel")
    b.branch(waiting)

    b.position_at_end(waiting)
    system.pause(b)
    inside = b.and_(_look(b, gate), INT(OPEN - 1))
    b.cbranch(b.icmp_unsigned("==", inside, INT(0)), done, waiting)

    b.position_at_end(done)
    b.atomic_rmw("xchg", at(b, state, At.BUSY), INT(0), "release")
    b.ret_void()
    return made


def _work_all(module: ir.Module, work: ir.Function) -> None:
    made = function(module, "work_all", NOTHING, [POINTER, POINTER, LONG, LONG])
    b, (state, jobs, count, workers) = ir.IRBuilder(made.append_basic_block()), made.args
    each = Loop(b, LONG(0), count)
    job = at(b, jobs, b.mul(each.index, LONG(8 * len(Job._fields))))
    run, task, items, alone = (load(b, at(b, job, 8 * word), LONG) for word in range(len(Job._fields)))
    b.call(work, [state, run, b.inttoptr(task, POINTER), items, alone, workers])
    each.close()
    b.ret_void()


def _help(module: ir.Module, take: ir.Function, system: System) -> None:
    made = function(module, "help", NOTHING, [POINTER, LONG])
    b, (state, number) = ir.IRBuilder(made.append_basic_block()), made.args
    gate, asleep = at(b, state, At.GATE), at(b, state, At.ASLEEP)
    first = b.block
    looking, trying, inside, left, nothing, sleeping, gone = (made.append_basic_block() for _ in range(7))
    b.branch(looking)

    b.position_at_end(looking)
    spins, mine = b.phi(LONG), b.phi(INT)  # `mine` is the last job that this helper worked on
    spins.add_incoming(LONG(0), first)
    mine.add_incoming(INT(-1), first)
    seen = _look(b, gate)
    b.cbranch(_new(b, seen, mine), trying, nothing)

    b.position_at_end(trying)
    came = b.cmpxchg(gate, seen, b.add(seen, INT(1)), "acq_rel", "monotonic")
    b.cbranch(b.extract_value(came, 1), inside, looking)
    spins.add_incoming(spins, trying)
    mine.add_incoming(mine, trying)

    b.position_at_end(inside)
    job = b.lshr(seen, INT(16))
    with b.if_then(b.icmp_unsigned("<", number, load(b, at(b, state, At.WORKERS), LONG))):
        b.call(take, [state, number])
    b.branch(left)
    b.position_at_end(left)
    b.atomic_rmw("sub", gate, INT(1), "acq_rel")
    b.cbranch(_dismissed(b, state), gone, looking)
    spins.add_incoming(LONG(0), left)
    mine.add_incoming(job, left)

    b.position_at_end(nothing)
    system.pause(b)
    following = b.add(spins, LONG(1))
    b.cbranch(b.icmp_unsigned("<", following, LONG(SPINS)), looking, sleeping)
    spins.add_incoming(following, nothing)
    mine.add_incoming(mine, nothing)

    b.position_at_end(sleeping)
    b.atomic_rmw("add", asleep, INT(1), "seq_cst")
    now = _look(b, gate, "seq_cst")  # read after ASLEEP was raised: a job opened later wakes this helper
    dismissed = _dismissed(b, state)
    with b.if_then(b.not_(b.or_(dismissed, _new(b, now, mine)))):
        system.wait(b, gate, now)
    b.atomic_rmw("sub", asleep, INT(1), "seq_cst")
    b.cbranch(dismissed, gone, looking)
    spins.add_incoming(LONG(0), b.block)
    mine.add_incoming(mine, b.block)

    b.position_at_end(gone)
    b.ret_void()


def _dismiss(module: ir.Module, system: System) -> None:
    made = function(module, "dismiss", NOTHING, [POINTER])
    b, (state,) = ir.IRBuilder(made.append_basic_block()), made.args
    gate = at(b, state, At.GATE)
    b.atomic_rmw("xchg", at(b, state, At.DISMISSED), INT(1), "seq_cst")
    b.atomic_rmw("add", gate, INT(NEXT_JOB), "seq_cst")  # so `wait` on the old value returns at once
    system.wake(b, gate)
    b.ret_void()


def _next(b: ir.IRBuilder, state: ir.Value, worker: ir.Value) -> ir.Value:
    """The address of the number of the next item in a worker's share."""
    return at(b, state, b.add(LONG(At.NEXT), b.mul(worker, LONG(LINE))))


def _look(b: ir.IRBuilder, word: ir.Value, order: str = "acquire") -> ir.Value:
    """Emit an atomic load of an int32."""
    return b.load_atomic(word, order, 4, typ=INT)


def _new(b: ir.IRBuilder, gate: ir.Value, mine: ir.Value) -> ir.Value:
    """Whether the gate is open for another job than `mine`."""
    is_open = b.trunc(b.lshr(gate, INT(15)), BIT)
    return b.and_(is_open, b.icmp_unsigned("!=", b.lshr(gate, INT(16)), mine))


def _dismissed(b: ir.IRBuilder, state: ir.Value) -> ir.Value:
    return b.icmp_unsigned("!=", _look(b, at(b, state, At.DISMISSED), "seq_cst"), INT(0))


def _call(b: ir.IRBuilder, run: ir.Value, given: list[ir.Value]) -> None:
    b.call(b.inttoptr(run, RUN.as_pointer()), given)
