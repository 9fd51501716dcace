"""Prompts for models of next edits: what is read of each, and the form of the answer that its client expects."""

import httpx
import pytest

from dlsp.api.edit_prompts import of_message, of_prompt
from dlsp.api.edits import Edit
from dlsp_engine.text.edit_formats.named import FORMATS
from dlsp_engine.text.prompt import File
from dlsp_engine.text.rewrite import Rewrite
from tests.dlsp.api.test_chat import content, streamed
from tests.dlsp.api.test_dialects import events
from tests.dlsp.stub_engine import StubEngine
from tests.engine.test_edit_formats import NAMED

REGION, NEW = "def f(x):\n    return y", "def f(x):\n    return x"
DIFF = "```diff\n@@ -1 +1 @@\n-def f(x, z):\n+def f(x):\n```"
ZETA = (
    "### Instruction:\nYou are a code completion assistant.\n\n### User Edits:\n\n"
    f'User edited "src/a.py":\n{DIFF}\n\n### User Excerpt:\n\n```src/a.py\n<|start_of_file|>import b\n'
    "<|editable_region_start|>\ndef f(x):\n    return y<|user_cursor_is_here|>\n<|editable_region_end|>\n\n"
    "print(f(1))\n```\n\n### Response:\n"
)
INSTINCT = (
    "Your task is to help the user.\n\n### Context:\n<|context_file|>: b.py\n<|snippet|>\nB = 1\n\n### User Edits:\n\n"
    f'User edited file "src/a.py"\n\n{DIFF}\n\n### User Excerpt:\nsrc/a.py\n\nimport b\n<|editable_region_start|>\n'
    "def f(x):\n    return y<|user_cursor_is_here|>\n<|editable_region_end|>\nprint(f(1))\n### Response:"
)
HEAD = (
    "<[fim-suffix]>\nprint(f(1))\n<[fim-prefix]><filename>b.py\nB = 1\n\n<filename>edit_history\n--- a/src/a.py\n"
    "+++ b/src/a.py\n@@ -2 +2 @@\n-def f(x, z):\n+def f(x):\n\n<filename>src/a.py\nimport b\n"
)
ZETA_2 = HEAD + "<<<<<<< CURRENT\ndef f(x):\n    return y<|user_cursor|>\n=======\n<[fim-middle]>"
ZETA_2_1 = HEAD + "<|marker_1|>\ndef f(x):\n<|marker_2|>\n    return y<|user_cursor|>\n<|marker_3|>\n<[fim-middle]>"
SWEEP = (
    "<|file_sep|>b.py\nB = 1\n<|file_sep|>src/a.py\nimport b\ndef f(x, z):\n    return y\n\nprint(f(1))\n"
    "<|file_sep|>src/a.py:2:2\noriginal:\ndef f(x, z):\nupdated:\ndef f(x):\n<|file_sep|>original/src/a.py\n"
    "def f(x, z):\n    return y\n<|file_sep|>current/src/a.py\ndef f(x):\n    return y<|cursor|>\n"
    "<|file_sep|>updated/src/a.py\n"
)
DUET = (
    "Recent edits:\n...\n# language: python\nimport b\n<editable_region>\ndef f(x):\n    return y<cursor_position/>\n"
    "</editable_region>\nprint(f(1))"
)
MARKED = f"<|editable_region_start|>\n{NEW}\n<|editable_region_end|>"

PROMPTS = {
    "zeta": (ZETA, MARKED, f"<|editable_region_start|>\n{REGION}\n<|editable_region_end|>"),
    "zeta 2": (ZETA_2, f"{NEW}\n>>>>>>> UPDATED\n", "NO_EDITS\n>>>>>>> UPDATED\n"),
    "zeta 2.1": (
        ZETA_2_1,
        f"<|marker_1|>\n{NEW}\n<|marker_3|><[end▁of▁sentence]>",
        "<|marker_1|>\n<|marker_1|><[end▁of▁sentence]>",
    ),
    "sweep": (SWEEP, NEW, REGION),
    "sweep, begun": (SWEEP + "def f(x):\n", "    return x", "    return y"),
    "sweep, begun otherwise": (SWEEP + "def g(x):\n", "    return y", "    return y"),
}
MESSAGES = {
    "instinct": (INSTINCT, NEW, REGION),
    "duet": (
        DUET,
        "<editable_region>\ndef f(x):\n    return x<cursor_position/>\n</editable_region>",
        "<editable_region>\ndef f(x):\n    return y<cursor_position/>\n</editable_region>",
    ),
}


@pytest.mark.parametrize("name", PROMPTS)
async def test_prompts(api: httpx.AsyncClient, stub: StubEngine, name: str) -> None:
    prompt, changed, same = PROMPTS[name]
    for new, expected in ((NEW, changed), (REGION, same)):
        stub.answer = lambda request, new=new: f"```python\n{new}\n```"
        body = {"model": "m", "prompt": prompt, "max_tokens": 99, "temperature": 0, "stop": ["<|file_sep|>", "</s>"]}
        (choice,) = (await api.post("/v1/completions", json=body)).json()["choices"]
        assert (choice["text"], choice["finish_reason"]) == (expected, "stop")
        *chunks, done = events(await api.post("/v1/completions", json=body | {"stream": True}))
        assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == expected
        assert (chunks[-1]["choices"][0]["finish_reason"], done) == ("stop", "[DONE]")
    system, user = stub.requests[0]["messages"]
    assert system["content"].startswith("You edit code.")
    assert f"The part:\n```\n{REGION}\n```" in user["content"]
    assert all(part in user["content"] for part in ("src/a.py", "-def f(x, z):", "+def f(x):"))
    assert "<|" not in user["content"]
    assert (stub.requests[0]["max_tokens"], stub.requests[0]["stop"]) == (99, [])


async def test_a_stop_text_cuts_the_end_of_the_form(api: httpx.AsyncClient, stub: StubEngine) -> None:
    stub.answer = lambda request: NEW
    body = {"prompt": ZETA, "stop": ["\n<|editable_region_end|>"]}
    (choice,) = (await api.post("/v1/completions", json=body)).json()["choices"]
    assert choice["text"] == f"<|editable_region_start|>\n{NEW}"


@pytest.mark.parametrize("name", MESSAGES)
async def test_messages(api: httpx.AsyncClient, stub: StubEngine, name: str) -> None:
    message, changed, same = MESSAGES[name]
    examples = [{"role": "system", "content": "Edit."}, {"role": "user", "content": "one"}]
    body = {"messages": [*examples, {"role": "assistant", "content": "a"}, {"role": "user", "content": message}]}
    for new, expected in ((NEW, changed), (REGION, same)):
        stub.answer = lambda request, new=new: new
        (choice,) = (await api.post("/v1/chat/completions", json=body)).json()["choices"]
        assert choice["message"]["content"] == expected
        assert content(streamed(await api.post("/v1/chat/completions", json=body | {"stream": True}))) == expected
    assert f"The part:\n```\n{REGION}\n```" in stub.requests[0]["messages"][1]["content"]
    assert stub.requests[0]["temperature"] == 0


def test_what_is_read() -> None:
    edits = {name: found.edit for name, (prompt, *_) in PROMPTS.items() if (found := of_prompt(prompt))}
    assert {edit.path for edit in edits.values()} == {"src/a.py"}
    assert {edit.region for edit in edits.values()} == {REGION}
    assert edits["zeta"].before == "import b\n"
    assert edits["zeta"].after == "\n\nprint(f(1))\n"
    changes = "--- a/src/a.py\n+++ b/src/a.py\n@@ -2 +2 @@\n-def f(x, z):\n+def f(x):\n\n"
    expected = Edit("src/a.py", "import b\n", REGION, "\n\nprint(f(1))\n", changes, (("b.py", "B = 1\n\n"),))
    assert edits["zeta 2"] == edits["zeta 2.1"] == expected
    assert edits["sweep"].changes == "--- a/src/a.py\n+++ b/src/a.py\n@@ @@\n-def f(x, z):\n+def f(x):\n"
    assert (edits["sweep"].before, edits["sweep"].after) == ("import b\n", "\n\nprint(f(1))\n")
    assert dict(edits["sweep"].snippets)["b.py"] == "B = 1\n"
    found = of_message(INSTINCT)
    assert found
    assert (found.edit.path, found.edit.snippets) == ("src/a.py", (("b.py", "B = 1\n\n"),))


@pytest.mark.parametrize(
    "prompt",
    [
        "x = ",
        "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>",
        "<|repo_name|>r\n<|file_sep|>updated/a.py\nx\n<|file_sep|>b.py\n<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>",
        "<[fim-suffix]>b<[fim-prefix]><filename>a.py\na<[fim-middle]>",
        "### User Excerpt:\n<|editable_region_start|>",
    ],
)
def test_other_prompts_are_no_edits(prompt: str) -> None:
    assert of_prompt(prompt) is None
    assert of_message(prompt) is None


@pytest.mark.parametrize("name", ["sweep", "zeta1", "zeta2", "zeta2.1"])
def test_what_the_engine_writes_in_a_format_is_taken_apart_and_the_reply_is_read_by_it(name: str) -> None:
    """Both sides of each format agree: the engine asks in it, and the server of other clients answers in it."""
    form = FORMATS[name]
    region = f"{REGION}\n"
    window = Rewrite(
        f"import b\n{region}" if name == "sweep" else region,
        path="src/a.py",
        before="import b\ndef f(x, z):\n    return y\n",
        keep=int(name == "sweep"),
        files=(File("b.py", "B = 1\n"), File("src/a.py", "import b\ndef f(x, z):\n    return y\n\nprint(f(1))\n")),
        edits=(File("src/a.py", "--- a/src/a.py\n+++ b/src/a.py\n@@ -2 +2 @@\n-def f(x, z):\n+def f(x):\n"),),
        prefix="import b\n",
        suffix="\nprint(f(1))\n",
        row=1,
        cursor=3,
    )
    file = "<|file_sep|>" if name == "sweep" else "<filename>"
    taken = of_prompt(NAMED.spelled_out(form.prompt(window, NAMED).tokens, file))
    assert taken
    edit = taken.edit
    assert (edit.path, edit.before, edit.after.strip()) == ("src/a.py", "import b\n" * (name != "sweep"), "print(f(1))")
    assert edit.region.removeprefix("import b\n") == REGION
    assert "-def f(x, z):\n+def f(x):\n" in edit.changes
    assert name == "zeta1" or ("b.py", "B = 1") in [(path, text.strip()) for path, text in edit.snippets]
    for new, text in ((edit.region, window.text), (edit.region.replace("y", "x"), window.text.replace("y", "x"))):
        reply = taken.reply(new)
        answer = min((reply.partition(stop)[0] for stop in form.stops), default=reply, key=len)
        assert form.read(window, answer).text == text
