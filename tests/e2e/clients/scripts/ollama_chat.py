"""What a program does with `ollama` and a chat: ask, stream, call a function and go on with its result."""

import json
import sys

import ollama


def weather(city: str) -> str:
    """The weather of a city."""
    return f"18 C in {city}"


client = ollama.Client(host=sys.argv[1])
hello = [{"role": "user", "content": "Hello?"}]
ask = [{"role": "user", "content": "Weather?"}]
called = client.chat(model="any", messages=ask, tools=[weather])
(call,) = called.message.tool_calls
result = {"role": "tool", "tool_name": "weather", "content": weather(**call.function.arguments)}
schema = {"type": "object", "properties": {"city": {"type": "string"}}}
told = {
    "json": json.loads(client.chat(model="any", messages=hello, format=schema).message.content),
    "text": client.chat(model="any", messages=hello).message.content,
    "streamed": "".join(each.message.content for each in client.chat(model="any", messages=hello, stream=True)),
    "call": [call.function.name, dict(call.function.arguments)],
    "answer": client.chat(model="any", messages=[*ask, called.message, result], tools=[weather]).message.content,
}
print(json.dumps(told))
