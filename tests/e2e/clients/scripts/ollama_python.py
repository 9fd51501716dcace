"""What a program does with `ollama`: generate, whole and streamed, list, show, and what runs."""

import json
import sys

import ollama

client = ollama.Client(host=sys.argv[1])
whole = client.generate(model="any", prompt="a = ", suffix="\n", options={"num_predict": 9})
stream = client.generate(model="any", prompt="b = ", raw=True, stream=True)
(model,) = client.list().models
told = {
    "text": whole.response,
    "reason": whole.done_reason,
    "streamed": "".join(each.response for each in stream),
    "model": model.model,
    "capabilities": client.show(model.model).capabilities,
    "running": [each.model for each in client.ps().models],
}
print(json.dumps(told))
