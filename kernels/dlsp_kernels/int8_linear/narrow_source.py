"""The program that multiplies few rows of x by a weight that oneDNN packed, in LLVM's language.

oneDNN packs a weight [out, in] as [out / 64, in / 4, 64, 4]: of 64 outputs, the same 4 inputs lie together. AVX-512
VNNI has an instruction, `vpdpbusd`, that multiplies 16 such fours by four inputs of a row of x and adds the products to
16 sums. So a block of 64 outputs is read from one end to the other, and what comes of it stays in registers.
"""

from collections.abc import Iterator

BLOCK, LANES = 64, 16
"""Outputs that lie together, and those of a vector."""

AT_ONCE = 6
"""Rows whose sums fit into registers. More take another look at a block, which is in the cache then."""

FIELDS = ("weight", "correction", "scale", "x", "out", "blocks", "fours", "outs", "rows")
POINTERS = 5
"""A task: pointers first, then numbers, 8 bytes each. x is [rows, 4 * fours], out [rows, outs]."""

INTS, FLOATS = f"<{LANES} x i32>", f"<{LANES} x float>"
PARTS = range(BLOCK // LANES)


def source() -> Iterator[str]:
    """LLVM's language. `run` takes a thread's share of the blocks, `rows_N` N rows of a block."""
    yield f"declare {INTS} @llvm.x86.avx512.vpdpbusd.512({INTS}, {INTS}, {INTS})"
    yield f"declare void @llvm.masked.store.v{LANES}f32.p0({FLOATS}, ptr, i32, <{LANES} x i1>)"
    yield "declare i32 @omp_get_thread_num()"
    yield "declare i32 @omp_get_num_threads()"
    for rows in range(1, AT_ONCE + 1):
        yield from block(rows)
    yield from share()


def block(rows: int) -> Iterator[str]:
    """`rows` rows of x times one block of outputs, of which, with those behind, `left` are real."""
    here = range(rows)
    yield f"define internal void @rows_{rows}(ptr noalias %weight, ptr noalias %correction, ptr noalias %scale,"
    yield "  ptr noalias %x, ptr noalias %out, i64 %fours, i64 %outs, i64 %left) {"
    yield "entry:"
    yield "  %ins = shl i64 %fours, 2"
    for r in here:
        yield f"  %skip{r} = mul i64 %ins, {r}"
        yield f"  %row{r} = getelementptr i8, ptr %x, i64 %skip{r}"
    yield "  br label %loop"
    yield "loop:"
    yield "  %four = phi i64 [0, %entry], [%next, %loop]"
    for r in here:
        for p in PARTS:
            yield f"  %sum{r}_{p} = phi {INTS} [zeroinitializer, %entry], [%more{r}_{p}, %loop]"
    yield f"  %byte = mul i64 %four, {4 * BLOCK}"
    yield "  %at = getelementptr i8, ptr %weight, i64 %byte"
    for p in PARTS:
        yield f"  %at{p} = getelementptr i8, ptr %at, i64 {4 * LANES * p}"
        yield f"  %w{p} = load {INTS}, ptr %at{p}, align 1"
    for r in here:
        yield f"  %from{r} = getelementptr i32, ptr %row{r}, i64 %four"
        yield f"  %x{r} = load i32, ptr %from{r}, align 4"
        yield f"  %one{r} = insertelement {INTS} poison, i32 %x{r}, i32 0"
        yield f"  %all{r} = shufflevector {INTS} %one{r}, {INTS} poison, {INTS} zeroinitializer"
        for p in PARTS:
            product = f"call {INTS} @llvm.x86.avx512.vpdpbusd.512({INTS} %sum{r}_{p}, {INTS} %all{r}, {INTS} %w{p})"
            yield f"  %more{r}_{p} = {product}"
    yield "  %next = add i64 %four, 1"
    yield "  %on = icmp ult i64 %next, %fours"
    yield "  br i1 %on, label %loop, label %done"
    yield "done:"
    yield f"  %left1 = insertelement <{LANES} x i64> poison, i64 %left, i32 0"
    yield f"  %lefts = shufflevector <{LANES} x i64> %left1, <{LANES} x i64> poison, {INTS} zeroinitializer"
    for p in PARTS:
        numbers = ", ".join(f"i64 {LANES * p + lane}" for lane in range(LANES))
        yield f"  %real{p} = icmp sgt <{LANES} x i64> %lefts, <{numbers}>"
        for name, kind in (("correction", INTS), ("scale", FLOATS)):
            yield f"  %{name}_at{p} = getelementptr {kind}, ptr %{name}, i64 {p}"
            yield f"  %{name}{p} = load {kind}, ptr %{name}_at{p}, align 4"
        for r in here:
            yield f"  %less{r}_{p} = sub {INTS} %more{r}_{p}, %correction{p}"
            yield f"  %float{r}_{p} = sitofp {INTS} %less{r}_{p} to {FLOATS}"
            yield f"  %y{r}_{p} = fmul {FLOATS} %float{r}_{p}, %scale{p}"
            yield f"  %line{r}_{p} = mul i64 %outs, {r}"
            yield f"  %place{r}_{p} = add i64 %line{r}_{p}, {LANES * p}"
            yield f"  %to{r}_{p} = getelementptr float, ptr %out, i64 %place{r}_{p}"
            told = f"{FLOATS} %y{r}_{p}, ptr %to{r}_{p}, i32 4, <{LANES} x i1> %real{p}"
            yield f"  call void @llvm.masked.store.v{LANES}f32.p0({told})"
    yield "  ret void"
    yield "}"


def share() -> Iterator[str]:
    """Each thread takes as many blocks as the others, one block after the other, all rows of each."""
    yield "define void @run(ptr %task) {"
    yield "entry:"
    for number, name in enumerate(FIELDS):
        kind = "ptr" if number < POINTERS else "i64"
        yield f"  %{name}_at = getelementptr i64, ptr %task, i32 {number}"
        yield f"  %{name} = load {kind}, ptr %{name}_at, align 8"
    for name in ("thread_num", "num_threads"):
        yield f"  %{name}32 = call i32 @omp_get_{name}()"
        yield f"  %{name} = sext i32 %{name}32 to i64"
    yield "  %after = add i64 %thread_num, 1"
    for name, number in (("begin", "thread_num"), ("end", "after")):
        yield f"  %{name}_all = mul i64 %blocks, %{number}"
        yield f"  %{name} = udiv i64 %{name}_all, %num_threads"
    yield "  %ins = shl i64 %fours, 2"
    yield f"  %block_bytes = mul i64 %fours, {4 * BLOCK}"
    yield "  %any = icmp ult i64 %begin, %end"
    yield "  br i1 %any, label %block, label %exit"
    yield "block:"
    yield "  %b = phi i64 [%begin, %entry], [%b_next, %block_done]"
    yield "  %w_skip = mul i64 %b, %block_bytes"
    yield "  %w = getelementptr i8, ptr %weight, i64 %w_skip"
    yield f"  %first = mul i64 %b, {BLOCK}"
    yield "  %c = getelementptr i32, ptr %correction, i64 %first"
    yield "  %s = getelementptr float, ptr %scale, i64 %first"
    yield "  %left = sub i64 %outs, %first"
    yield "  br label %some"
    yield "some:"
    yield "  %r = phi i64 [0, %block], [%r_next, %some_done]"
    yield "  %rest = sub i64 %rows, %r"
    yield f"  %rest_up = add i64 %rest, {AT_ONCE - 1}"
    yield f"  %looks = udiv i64 %rest_up, {AT_ONCE}"
    yield "  %fair_up = add i64 %rest, %looks"
    yield "  %fair_one = sub i64 %fair_up, 1"
    yield "  %now = udiv i64 %fair_one, %looks"
    yield "  %x_skip = mul i64 %r, %ins"
    yield "  %x_now = getelementptr i8, ptr %x, i64 %x_skip"
    yield "  %o_skip = mul i64 %r, %outs"
    yield "  %o_place = add i64 %o_skip, %first"
    yield "  %o_now = getelementptr float, ptr %out, i64 %o_place"
    cases = " ".join(f"i64 {n}, label %case{n}" for n in range(1, AT_ONCE + 1))
    yield f"  switch i64 %now, label %exit [{cases}]"
    for n in range(1, AT_ONCE + 1):
        yield f"case{n}:"
        given = "ptr %w, ptr %c, ptr %s, ptr %x_now, ptr %o_now, i64 %fours, i64 %outs, i64 %left"
        yield f"  call void @rows_{n}({given})"
        yield "  br label %some_done"
    yield "some_done:"
    yield "  %r_next = add i64 %r, %now"
    yield "  %r_on = icmp ult i64 %r_next, %rows"
    yield "  br i1 %r_on, label %some, label %block_done"
    yield "block_done:"
    yield "  %b_next = add i64 %b, 1"
    yield "  %b_on = icmp ult i64 %b_next, %end"
    yield "  br i1 %b_on, label %block, label %exit"
    yield "exit:"
    yield "  ret void"
    yield "}"
