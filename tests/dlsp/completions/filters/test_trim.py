"""Golden cases: the document with ▮ at the cursor, the engine's answer, and what is left of it."""

import pytest

from dlsp.completions.filters import trim

CASES = {
    "nothing to cut": ("x = ▮\n", "a + b", "a + b"),
    "white space at the end": ("x = ▮\n", "a + b  \n\n", "a + b"),
    "white space alone": ("x = ▮\n", "  \n  ", ""),
    "blanks kept before text": ("x = ▮b\n", "a + ", "a + "),
    "all filters at once": (
        "def f(a):\n\tx = g(▮)\n\treturn x\n",
        "a, [1])\n    return x<|endoftext|>",
        "a, [1]",
    ),
    "talk after the code": ("RUN make\n▮\n", "USER app\n```\n\nThis Dockerfile:", "USER app"),
    "fences where there are some": ("```sh\nmake\n▮\n", "make run\n```", "make run\n```"),
    "a method that stands below, under another's attribute": (
        "impl A {\n    /// F.\n    ▮\n    #[inline]\n    fn f() {}\n\n    fn g() {}\n}\n",
        "#[inline]\n    fn g() {}",
        "",
    ),
    # the document's line endings
    "carriage returns": ("if a:\r\n    ▮\r\nb\r\n", "x = 1\n    y = 2", "x = 1\r\n    y = 2"),
    "carriage returns and a repeat": ("a\r\n▮\r\nb\r\n", "x = 1\nb", "x = 1"),
    "carriage returns and tabs": ("if a:\r\n\t▮\r\n\tb()\r\n", "x = 1\n    y = 2", "x = 1\r\n\ty = 2"),
}


@pytest.mark.parametrize("case", CASES)
def test_trim(case: str) -> None:
    document, answer, expected = CASES[case]
    before, after = document.split("▮")
    assert trim(answer, before, after) == expected
