"""Programs in other languages: built, tested, and kept from everything but computing."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.quality import tools
from bench.quality.tools import Program, run
from dlsp.errors import UserError

# By language: a program with a place for an expression, its test, and a tool that it needs.
PROGRAMS = {
    "cpp": ("int f() { return {}; }", "int main() { return f() == 3 ? 0 : 1; }", "g++"),
    "go": (
        "package solution\n\nfunc F() int { return {} }\n",
        'package solution\n\nimport "testing"\n\nfunc TestF(t *testing.T) { if F() != 3 { t.Fail() } }\n',
        "go",
    ),
    "java": (
        "class Solution { int f() { return {}; } }",
        "public class Main { public static void main(String[] a) { if (new Solution().f() != 3) System.exit(1); } }",
        "javac",
    ),
    "javascript": ("const f = () => { return {} };", "if (f() !== 3) process.exit(1)", "node"),
    "rust": ("fn f() -> i32 { {} }", "#[test]\nfn t() { assert_eq!(f(), 3); }", "rustc"),
}


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_passes_only_if_it_builds_and_its_test_succeeds(language):
    text, test, tool = PROGRAMS[language]
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    why = {fill: run(Program(text.replace("{}", fill), language, test)).why for fill in ("1 + 2", "1 + 1", "1 +* /")}
    assert why == {"1 + 2": "passed", "1 + 1": "failed", "1 +* /": "failed" if language == "javascript" else "build"}


def test_programs_that_are_built_at_once_wait_for_their_header(tmp_path, monkeypatch):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path))
    tools._cpp_header.cache_clear()
    text, test, _ = PROGRAMS["cpp"]
    programs = [Program(text.replace("{}", f"{n} + {3 - n}"), "cpp", test) for n in range(3)]
    try:
        with ThreadPoolExecutor(3) as pool:
            assert [one.why for one in pool.map(run, programs)] == ["passed"] * 3
    finally:
        tools._cpp_header.cache_clear()


def node(text: str, *cases: tuple[str, tuple[str, ...]]) -> str:
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    return run(Program(text, "javascript", cases=cases)).why


def test_every_input_must_give_one_of_its_outputs():
    double = "console.log('N', 2 * Number(require('fs').readFileSync(0)))"
    assert node(double, ("1", ("n 2",)), ("4", ("7", "N  8\n"))) == "passed"
    assert node(double, ("1", ("n 2",)), ("4", ("9",))) == "wrong"


@pytest.mark.parametrize(
    "deed",
    [
        "require('fs').writeFileSync(PATH, 'changed')",
        "require('fs').unlinkSync(PATH)",
        "require('fs').writeFileSync('new', '')",
        "require('net').connect(9, '1.1.1.1').on('error', () => process.exit(1)).on('connect', () => process.exit(0))",
        "process.kill(PID, 0)",
    ],
)
def test_a_program_changes_nothing_and_reaches_nobody(tmp_path, deed):
    path = tmp_path / "precious"
    path.write_text("kept")
    for each in (path, tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o777)
    code = f"const PATH = {str(path)!r}, PID = {os.getpid()}; require('fs').readFileSync(PATH); {deed}"
    assert node(code) != "passed"
    assert path.read_text() == "kept"


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    tools.tool.cache_clear()
    try:
        with pytest.raises(UserError, match="`rustc` is missing"):
            run(Program("", "rust"))
    finally:
        tools.tool.cache_clear()
