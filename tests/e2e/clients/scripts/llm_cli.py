"""What a user does with the command `llm`: a model of an OpenAI-like server in its settings, asked and streamed."""

import json
import os
import subprocess
import sys
from pathlib import Path

home = Path(sys.argv[2]) / "llm"
home.mkdir()
entries = [{"model_id": "chat", "model_name": "any", "api_base": f"{sys.argv[1]}/v1"}]
entries.append({**entries[0], "model_id": "code", "completion": True})
(home / "extra-openai-models.yaml").write_text(json.dumps(entries))  # JSON is YAML, too
program = [sys.executable, "-m", "llm", "prompt", "--no-log", "--key", "none"]
known = {**os.environ, "LLM_USER_PATH": str(home)}


def said(*words: str) -> str:
    done = subprocess.run([*program, *words], capture_output=True, text=True, env=known, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


told = {
    "streamed": said("-m", "chat", "Hello?"),
    "whole": said("-m", "chat", "--no-stream", "Hello?"),
    "completed": said("-m", "code", "b = "),
}
print(json.dumps(told))
