#!/bin/sh
# Trains an adapter on a machine that is bare, has PyTorch and may be gone in half an hour. README.md beside this.
#
#   train.sh keep FOLDER            keep the parts that came with this call
#   train.sh start MINUTES [OPTION] unpack, train, evaluate, in the background; options of dlsp_engine.train.adapter
#   train.sh wait SECONDS           until that is done or the time is over; then what there is goes to $OUT
#
# RUN names the run's folder (default "run"): another name starts another run on what is unpacked already.
# GAPS is how many gaps are evaluated at run time at the end (default 40).
set -eu
work=${DLSP_WORK:-/tmp/dlsp}
run=${RUN:-run}
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")/../.." && pwd)
verb=$1
shift

limit=
train() {
    folder=$1
    shift
    set -- --samples pack/samples --weights pack/weights --base-sha256 "$(cat pack/base.sha256)" --out "$folder" \
        --batch 32 --accumulate 1 --rows 512 --widths 4,8,4,2 --lr 1e-3 --warm-up 100 --judge-rows 128 "$@"
    if [ -f pack/start/adapter.safetensors ]; then
        set -- --from pack/start/adapter.safetensors "$@"
    fi
    $limit "$python" -m dlsp_engine.train.adapter "$@"
}

# Compiled layers are taken only if they are faster here and now.
fastest() {
    limit="timeout -s KILL 150"
    train probe-plain "$@" --steps 25 --every-step --judge-rows 0 >&2 || true
    train probe-compiled "$@" --steps 25 --every-step --judge-rows 0 --compile >&2 || true
    limit=
    plain=$("$python" -m bench.gpu.rate probe-plain/log.jsonl)
    compiled=$("$python" -m bench.gpu.rate probe-compiled/log.jsonl)
    echo "rows a second: plain $plain, compiled $compiled" >&2
    if [ "$compiled" -gt "$plain" ]; then echo --compile; fi
}

everything() {
    minutes=$1
    shift
    cd "$work"
    export PYTHONUNBUFFERED=1 PYTHONPATH="$work/pack/site:$work/code/engine:$work/code/kernels:$work/code"
    if [ ! -f pack/weights/weights.safetensors ]; then
        (cd parts && sha256sum --quiet -c parts.sha256)
        mkdir -p pack
        cat parts/part-* | tar xzf - -C pack
        "$python" -m bench.gpu.convert pack
    fi
    if [ ! -f fastest ]; then
        if command -v nvidia-smi >/dev/null; then fastest "$@" >fastest; else : >fastest; fi
    fi
    train "$run" --minutes "$minutes" --save-minutes 2 --judge-minutes 2 $(cat fastest) "$@"
    timeout 120 "$python" -m dlsp_engine.train.evaluate --gaps pack/samples/gaps.jsonl.xz --weights pack/weights \
        --adapter "$run/adapter.safetensors" --limit "${GAPS:-40}" --draft 8 --out "$run/scores.json" || echo "not evaluated"
}

hand_over() {
    tail -n 40 "$work/log"
    cp "$work/log" "$OUT/train.log"
    for name in log.jsonl scores.json; do
        if [ -f "$work/$run/$name" ]; then cp "$work/$run/$name" "$OUT/"; fi
    done
    if [ -f "$work/$run/adapter.safetensors" ]; then
        # A copy: the next save would replace the file while it is cut.
        cp "$work/$run/adapter.safetensors" "$work/adapter.safetensors"
        (cd "$work" && sha256sum adapter.safetensors >"$OUT/adapter.sha256")
        split -b 15000000 "$work/adapter.safetensors" "$OUT/adapter.safetensors.part-"
    fi
}

case $verb in
keep)
    mkdir -p "$work/parts"
    cp "$1"/* "$work/parts/"
    ls "$work/parts"
    ;;
start)
    mkdir -p "$work/code"
    cp -R "$here/engine" "$here/kernels" "$here/bench" "$work/code/" # the next call brings its own tree
    rm -f "$work/done"
    setsid nohup sh "$work/code/bench/gpu/train.sh" all "$@" >"$work/log" 2>&1 </dev/null &
    ;;
all)
    trap 'echo $? >"$work/done"' EXIT
    everything "$@"
    ;;
wait)
    end=$(($(date +%s) + $1))
    while [ ! -f "$work/done" ] && [ "$(date +%s)" -lt "$end" ]; do sleep 1; done
    hand_over
    if [ -f "$work/done" ]; then echo "done, status $(cat "$work/done")"; else echo "still training"; fi
    ;;
*)
    echo "train.sh knows keep, start and wait, not '$verb'." >&2
    exit 2
    ;;
esac
