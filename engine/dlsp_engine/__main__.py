"""Command line of the engine: `python -m dlsp_engine serve …`, or `inspect PATH`, which prints what a checkpoint is as
JSON. dlsp runs both; people seldom do.
"""

import argparse
import json
import logging
import os
import signal
import sys
from pathlib import Path

from dlsp_engine.errors import MEMORY, EngineError, out_of_memory
from dlsp_engine.serve.log import Bounded


def main() -> int:
    os.umask(0o077)  # only the user may access files created from here on
    parser = argparse.ArgumentParser(prog="dlsp_engine", description="The resident engine of dlsp.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve one model to its user until idle")
    serve.add_argument("--model", required=True, help="the model's name, for the state file")
    serve.add_argument("--gguf", required=True, type=Path, help="the GGUF file, or folder of safetensors")
    serve.add_argument("--cache", required=True, type=Path, help="where converted weights lie")
    serve.add_argument("--state", required=True, type=Path, help="where lock and state file lie")
    serve.add_argument("--dtype", default="auto", help="auto, int4, int8, bfloat16 or float32")
    serve.add_argument("--device", default=os.environ.get("DLSP_DEVICE") or "auto", help="auto, cpu, cuda or mps")
    kv_mb = os.environ.get("DLSP_KV_MB", "")
    serve.add_argument("--kv-mb", default=kv_mb, help="megabytes for keys and values; empty: by the machine's memory")
    serve.add_argument("--prompts", type=Path, help="where prompt caches are saved; by default nowhere")
    prompts_mb = os.environ.get("DLSP_PROMPT_CACHE_MB", "")
    serve.add_argument("--prompts-mb", default=prompts_mb, help="megabytes for these; 0: none; empty: 500")
    serve.add_argument("--threads", type=int, default=0, help="0: as many as cores, half of them on battery")
    serve.add_argument("--infill-update", default="on", choices=("on", "off"), help="whether weights have it added")
    serve.add_argument("--edit-format", default="", help="in which others trained the model to write windows anew")
    serve.add_argument("--idle-seconds", type=float, default=1800)
    serve.add_argument("--version", default="", help="what clients compare; they replace an engine of another one")
    tcp = {"action": "store_true", "default": sys.platform == "win32", "help": argparse.SUPPRESS}
    serve.add_argument("--tcp", **tcp)  # listen on TCP as on Windows; tests use it on other systems
    inspect = commands.add_parser("inspect", help="say as JSON what a checkpoint is, or why it cannot run")
    inspect.add_argument("path", type=Path)
    inspect.add_argument("--before-weights", action="store_true", help="by all that a folder holds besides them")
    inspect.add_argument("--edit-format", default="", help="as for serve: refused without the tokens that it needs")
    options = parser.parse_args()
    try:
        return _inspect(options) if options.command == "inspect" else _serve(options)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not out_of_memory(error):
            raise
        print(MEMORY, file=sys.stderr)
        return 1


def _inspect(options: argparse.Namespace) -> int:
    from dlsp_engine.model.inspect import inspected, inspected_before_weights

    ask = inspected_before_weights if options.before_weights else inspected
    print(json.dumps(ask(options.path, options.edit_format)))
    return 0


def _serve(options: argparse.Namespace) -> int:
    # By default the signal kills Python at once, which would leave the state file and half-converted weights behind.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(
            signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM)
        )  # a login session that ends sends both
    handler = Bounded(options.state / f"engine-{options.model}.log")
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s", handlers=[handler])
    from dlsp_engine import threads
    from dlsp_engine.serve import process

    threads.use(options.threads)
    process.serve(
        options.model,
        options.gguf,
        options.cache,
        options.state,
        options.dtype,
        options.idle_seconds,
        options.version,
        options.device,
        options.tcp,
        options.infill_update == "on",
        options.kv_mb,
        options.prompts,
        options.prompts_mb,
        options.edit_format,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
