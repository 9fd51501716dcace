"""Building and running programs in languages other than Python.

Compilers run as any other program does; what they make runs in `jail.commands`, which may only compute.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from filelock import FileLock

from bench.quality.sandbox import GRACE_S, JAIL, Unsafe, Verdict
from dlsp import paths
from dlsp.errors import UserError

BUILD_S = 300  # the first program in Go waits for its standard library
CPU_S, WALL_S, DATA_BYTES = 20, 60, 3 << 30
CPP_HEADER = "bits/stdc++.h"

Cases = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Program:
    """A program with the text in its gap. In Python the source includes its test. In other languages `test` is
    appended (Go: a second file), and `cases` are inputs with the outputs that are right.
    """

    source: str
    language: str = "python"
    test: str = ""
    cases: Cases = ()


# The files of a program -> commands that build it, and the command that runs it.
Plan = tuple[dict[str, str], list[list[str]], list[str]]


def run(program: Program) -> Verdict:
    """Build a program and run it. `why` is `build` if it cannot be built, else as in `jail.commands`.

    Raises UserError if a tool is missing.
    """
    files, builds, command = PLANS[program.language](program)
    with tempfile.TemporaryDirectory(prefix="program-") as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, "utf-8", "surrogatepass")
        for build in builds:
            if not _built(build, folder):
                return Verdict("build")
        return Verdict(_run(command, program.cases, folder))


def _built(build: Sequence[str], folder: str) -> bool:
    environment = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    try:
        return (
            subprocess.run(
                build, cwd=folder, env=environment, capture_output=True, timeout=BUILD_S, check=False
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def _run(command: Sequence[str], cases: Cases, folder: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(JAIL)!r}); import commands; commands.main()"
    asked = {"command": command, "cases": cases, "cpu_s": CPU_S, "wall_s": WALL_S, "data": DATA_BYTES}
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", code],
        cwd=folder,
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        answers, _ = process.communicate(json.dumps(asked).encode(), timeout=WALL_S + GRACE_S)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return "timeout"
        raise
    if not answers:
        raise Unsafe("The sandbox for compiled programs could not be started; run `python -m bench.quality` on Linux.")
    why = json.loads(answers.splitlines()[0])["why"]
    if why == "refused":
        raise Unsafe("Programs run by root cannot be contained here: run the bench as an ordinary user.")
    return why


def _cpp(program: Program) -> Plan:
    build = [tool("g++"), *CPP_OPTIONS, "-I", str(_cpp_header()), "-include", CPP_HEADER, "main.cpp", "-o", "program"]
    return {"main.cpp": f"{program.source}\n{program.test}"}, [build], ["./program"]


CPP_OPTIONS = ["-std=c++17", "-O1", "-w"]


@cache
def _cpp_header() -> Path:
    """The folder of the standard library's headers, compiled once: a program with them builds five times faster."""
    folder = paths.cache_dir() / "bench" / "cpp"
    compiled = folder / f"{CPP_HEADER}.gch"
    compiled.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):  # programs are built two at a time
        if compiled.exists():
            return folder
        partial = compiled.with_suffix(".partial")
        source = folder / CPP_HEADER  # for programs that include it themselves
        source.write_text(f"#include_next <{CPP_HEADER}>\n")
        build = [tool("g++"), *CPP_OPTIONS, "-x", "c++-header", str(source), "-o", str(partial)]
        subprocess.run(build, check=True, capture_output=True)
        partial.replace(compiled)
    return folder


def _java(program: Program) -> Plan:
    text = f"{program.source}\n{program.test}"
    public = re.search(r"\bpublic\s+(?:final\s+|abstract\s+)*(?:class|enum|interface)\s+(\w+)", text)
    before_main = text[: max(0, text.find("static void main"))]
    classes = re.findall(r"^(?:public\s+|final\s+)*class\s+(\w+)", before_main, re.MULTILINE)
    file = f"{public[1] if public else 'Main'}.java"
    started = classes[-1] if classes else file.removesuffix(".java")
    java = [tool("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx1g", "-Xss64m"]
    return {file: text}, [[tool("javac"), "-proc:none", "-encoding", "UTF-8", file]], [*java, started]


def _rust(program: Program) -> Plan:
    build = [tool("rustc"), "--edition", "2021", "--test", "-A", "warnings", "main.rs", "-o", "program"]
    return {"main.rs": f"{program.source}\n{program.test}"}, [build], ["./program"]


def _go(program: Program) -> Plan:
    files = {"main.go": program.source, "main_test.go": program.test, "go.mod": "module solution\n\ngo 1.21\n"}
    return files, [[tool("go"), "test", "-vet=off", "-c", "-o", "program"]], ["./program"]


def _node(ending: str) -> Callable[[Program], Plan]:
    def plan(program: Program) -> Plan:
        file = f"main.{ending}"
        return {file: f"{program.source}\n{program.test}"}, [], [tool("node"), "--max-old-space-size=1024", file]

    return plan


PLANS: dict[str, Callable[[Program], Plan]] = {
    "cpp": _cpp,
    "go": _go,
    "java": _java,
    "javascript": _node("js"),
    "rust": _rust,
    "typescript": _node("ts"),
}


@cache
def tool(name: str) -> str:
    """The path of a compiler or an interpreter. Raises UserError if it is missing."""
    if found := shutil.which(name):
        return found
    raise UserError(f"`{name}` is missing, which these tasks are built or run with: put it on the PATH.")
