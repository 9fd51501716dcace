#!/bin/sh
# Trains an adapter or an update on a machine that is bare, has PyTorch and may be gone soon. README.md beside this.
#
#   train.sh probe [OPTION]         is training right here, and how fast: in the background, while parts come
#   train.sh keep FOLDER            keep the parts that came with this call
#   train.sh unpack                 make what came ready for use, without training
#   train.sh start MINUTES [OPTION] unpack and train, in the background; options of what is trained (dlsp_engine.train)
#   train.sh wait SECONDS           until that is done or the time is over; what there is goes to $OUT at every save
#
# What is trained (adapter, base or edits) is what came: pack.py wrote its name. For base and edits `probe` takes
# `--fills RECIPE`. RUN names the run's folder (default "run"): another name starts another run on what is unpacked already.
# PROBE_SECONDS are what a probe without compiled layers may take (default 60); one with them may take twice that.
set -eu
work=${DLSP_WORK:-/tmp/dlsp}
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")/../.." && pwd)
verb=$1
shift
export PYTHONUNBUFFERED=1 PYTHONPATH="$work/pack/site:$work/code/engine:$work/code/kernels:$work/code"
recipe="--batch 42 --accumulate 1 --rows 384 --widths 4,8,3,4 --lr 1e-3 --warm-up 100"

# Compiled layers are taken only if they are faster here and now. Training waits for this, so it has to end.
probe() {
    most=${PROBE_SECONDS:-60}
    plain=$(timeout -s KILL "$most" "$python" -m bench.gpu.training $recipe "$@" | tee -a probe.log | tail -n 1)
    compiled=$(timeout -s KILL $((2 * most)) "$python" -m bench.gpu.training --compile $recipe "$@" | tee -a probe.log | tail -n 1)
    echo "rows a second: plain ${plain:-0}, compiled ${compiled:-0}"
    if [ "${compiled:-0}" -gt "${plain:-0}" ]; then echo --compile >fastest; fi
}

unpack() {
    if [ -f pack/weights/weights.safetensors ]; then return; fi
    (cd parts && sha256sum --quiet -c parts.sha256)
    mkdir -p pack
    cat parts/part-* | tar xzf - -C pack
    "$python" -m bench.gpu.convert pack
}

everything() {
    minutes=$1
    shift
    run=$(cat current)
    unpack
    if [ -f probing ]; then echo "waiting for the probe"; fi
    while [ -f probing ]; do sleep 1; done
    trained=$(cat pack/trained)
    case $trained in
    adapter) set -- --samples pack/samples --judge-rows 126 $recipe "$@" ;;
    base) set -- --fills pack/samples --judge-gaps 60 "$@" ;;
    edits) set -- --fills pack/samples --judge-windows 60 "$@" ;;
    esac
    if [ -f pack/start.safetensors ]; then set -- --from pack/start.safetensors "$@"; fi
    "$python" -m "dlsp_engine.train.$trained" --weights pack/weights --base-sha256 "$(cat pack/base.sha256)" \
        --out "$run" --minutes "$minutes" --judge-minutes 4 --save-minutes 2 $(cat fastest 2>/dev/null) "$@"
}

# $1, with its arguments, goes on when this call has ended; the next call brings a tree of its own.
in_background() {
    mkdir -p "$work/code"
    cp -R "$here/engine" "$here/kernels" "$here/bench" "$work/code/"
    setsid nohup sh "$work/code/bench/gpu/train.sh" "$@" >>"$work/$1.log" 2>&1 </dev/null &
}

# The file that the run has saved, if it has.
saved() {
    find "$work/$(cat "$work/current")" -name '*.safetensors' 2>/dev/null || true
}

hand_over() {
    cat "$work"/*.log >"$OUT/train.log"
    log=$work/$(cat "$work/current")/log.jsonl
    if [ -f "$log" ]; then cp "$log" "$OUT/"; fi
    file=$(saved)
    if [ -n "$file" ]; then
        # A copy: the next save would replace the file while it is cut.
        name=$(basename "$file")
        cp "$file" "$work/$name"
        (cd "$work" && sha256sum "$name" >"$OUT/${name%.safetensors}.sha256")
        split -b 15000000 "$work/$name" "$OUT/$name.part-"
    fi
}

case $verb in
probe)
    mkdir -p "$work"
    touch "$work/probing"
    in_background probing "$@"
    ;;
keep)
    mkdir -p "$work/parts"
    cp "$1"/* "$work/parts/"
    ls "$work/parts"
    if [ -f "$work/probing.log" ]; then cat "$work/probing.log"; fi
    ;;
unpack)
    mkdir -p "$work/code"
    cp -R "$here/engine" "$here/kernels" "$here/bench" "$work/code/"
    cd "$work"
    unpack
    ;;
start)
    mkdir -p "$work"
    echo "${RUN:-run}" >"$work/current"
    rm -f "$work/done"
    in_background all "$@"
    ;;
probing)
    cd "$work"
    trap 'rm -f probing' EXIT
    probe "$@"
    ;;
all)
    cd "$work"
    trap 'echo $? >done' EXIT
    everything "$@"
    ;;
wait)
    end=$(($(date +%s) + $1))
    while [ ! -f "$work/done" ] && [ "$(date +%s)" -lt "$end" ]; do
        sleep 1
        file=$(saved)
        handed=$work/$(basename "$file")
        # This call may be cut short.
        if [ -n "$file" ] && { [ ! -f "$handed" ] || [ "$file" -nt "$handed" ]; }; then hand_over; fi
    done
    hand_over
    tail -n 40 "$work/all.log"
    if [ -f "$work/done" ]; then echo "done, status $(cat "$work/done")"; else echo "still training"; fi
    ;;
*)
    echo "train.sh knows probe, keep, unpack, start and wait, not '$verb'." >&2
    exit 2
    ;;
esac
