"""What a program does with `openai`: complete, stream, choose among several, list models, and meet an error."""

import json
import sys

import openai

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0)
whole = client.completions.create(model="any", prompt="a = ", suffix="\n", max_tokens=7, stop=["###"], n=2, logprobs=1)
stream = client.completions.create(model="any", prompt="b = ", stream=True, stream_options={"include_usage": True})
chunks = list(stream)
try:
    client.completions.create(model="any", prompt="c = ", n=0)
    error = ""
except openai.BadRequestError as refused:
    error = refused.param
told = {
    "texts": [choice.text for choice in whole.choices],
    "tokens": whole.usage.total_tokens,
    "streamed": "".join(chunk.choices[0].text for chunk in chunks if chunk.choices),
    "usage": chunks[-1].usage.total_tokens,
    "models": [model.id for model in client.models.list()],
    "error": error,
}
print(json.dumps(told))
