"""What a program does with LiteLLM and a chat: OpenAI's and Ollama's, whole, streamed, with a function."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it is fetched from the network
import litellm

base = sys.argv[1]
HELLO = [{"role": "user", "content": "Hello?"}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
told = {}
for name, model, address in (("openai", "openai/any", f"{base}/v1"), ("ollama", "ollama_chat/any", base)):
    asked = {"model": model, "api_base": address, "api_key": "none", "num_retries": 0}
    whole = litellm.completion(messages=HELLO, **asked)
    stream = litellm.completion(messages=HELLO, stream=True, **asked)
    called = litellm.completion(messages=[{"role": "user", "content": "Weather?"}], tools=TOOLS, **asked)
    (call,) = called.choices[0].message.tool_calls
    told[name] = {
        "text": whole.choices[0].message.content,
        "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in stream),
        "call": [call.function.name, json.loads(call.function.arguments)],
    }
print(json.dumps(told))
