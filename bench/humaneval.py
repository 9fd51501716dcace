"""HumanEval by instruction: the task as a chat message, and the program that an answer makes."""

import re
from typing import Any

from bench.evals import rows

SOURCE = "https://github.com/openai/human-eval (as HumanEval.jsonl.gz)"
INSTRUCTION = "Complete this Python function. Reply with the whole function, in one code block.\n\n```python\n{}```"
MAX_TOKENS = 512
FENCED = re.compile(r"```(?:python)?\n(.*?)(?:```|\Z)", re.DOTALL)


def tasks() -> list[dict[str, Any]]:
    """All 164. Each has `task_id`, `prompt`, `test` and `entry_point`, of which the last three are Python."""
    return rows("humaneval/HumanEval.jsonl.gz", SOURCE)


def messages(task: dict[str, Any]) -> list[dict[str, str]]:
    """The chat that asks for a task's function."""
    return [{"role": "user", "content": INSTRUCTION.format(task["prompt"])}]


def program(task: dict[str, Any], answer: str) -> str:
    """The answer's code with the task's test. The prompt stands first: answers may leave out its imports."""
    found = FENCED.search(answer)
    code = found[1] if found else answer
    return f"{task['prompt']}    pass\n\n{code}\n{task['test']}\ncheck({task['entry_point']})\n"
