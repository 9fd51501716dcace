"""What a program does with `mistralai`: fill in the middle, whole and streamed."""

import json
import sys

try:
    from mistralai.client import Mistral
except ImportError:
    from mistralai import Mistral

client = Mistral(server_url=sys.argv[1], api_key="none")
whole = client.fim.complete(model="codestral-latest", prompt="a = ", suffix="\n", max_tokens=9)
stream = client.fim.stream(model="codestral-latest", prompt="b = ", suffix="\n")
pieces = [event.data.choices[0].delta.content for event in stream]
print(json.dumps({"text": whole.choices[0].message.content, "streamed": "".join(pieces)}))
