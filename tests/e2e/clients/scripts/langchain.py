"""What a program does with LangChain's `OpenAI`."""

import json
import sys

from langchain_openai import OpenAI

model = OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0)
print(json.dumps({"text": model.invoke("a = "), "streamed": "".join(model.stream("b = "))}))
