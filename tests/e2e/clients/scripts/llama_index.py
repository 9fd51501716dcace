"""What a program does with LlamaIndex's `OpenAILike`."""

import json
import sys

from llama_index.llms.openai_like import OpenAILike

model = OpenAILike(model="any", api_base=f"{sys.argv[1]}/v1", api_key="none", max_retries=0)
streamed = [each.delta for each in model.stream_complete("b = ")]
print(json.dumps({"text": model.complete("a = ").text, "streamed": "".join(streamed)}))
