import pytest

from dlsp.completions.filters.definitions import cut_defined
from tests.dlsp.completions.filters.golden import golden

CASES = {
    "below": "impl A {\n    ▮▮fn g(&self) {\n        h()▯\n    fn f(&self) {}\n\n    fn g(&self) {\n    }\n}\n",
    "above": "func (a A) F() {\n}\n\n▮func g() {\n}\n\n▮func (a A) F() {\n}▯\n",
    "in another block": "impl A {\n    ▮fn new() -> Self {\n    }▮▯\n}\n\nimpl B {\n    fn new() -> Self {\n    }\n}\n",
    "of another name": "class A:\n    ▮def f(self):\n        pass▮▯\n\n    def g(self):\n        pass\n",
    "no definition": "if a:\n    return 1\n▮if a:\n    return 1▮▯\n",
    "begun before": "def f():\n    pass\n\n\ndef ▮f():▮▯\n",
}


@pytest.mark.parametrize("case", CASES)
def test_cut_defined(case: str) -> None:
    marked = golden(CASES[case])
    assert cut_defined(marked.answer, marked.before, marked.after) == marked.kept
