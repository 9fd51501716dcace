"""What a program does with `openai`: complete, stream, choose among several, list models, and meet an error.

The whole reply is checked by the package's own types. They do not know pieces of a stream, whose reason is null.
"""

import json
import os
import sys

import openai
from openai.types import Completion

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key=os.environ.get("DLSP_API_KEY", "none"), max_retries=0)
raw = client.completions.with_raw_response.create(
    model="any", prompt="a = ", suffix="\n", max_tokens=7, stop=["###"], n=2, logprobs=1
)
whole = Completion.model_validate_json(raw.text if isinstance(raw.text, str) else raw.text())
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
