"""What a program does with `openai` and a chat: ask, stream, call a function and go on with its result, be refused.

Every reply is checked by the package's own types.
"""

import json
import sys

import openai
import pydantic
from openai.types.chat import ChatCompletion, ChatCompletionChunk

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0)
HELLO = {"model": "any", "messages": [{"role": "user", "content": "Hello?"}], "seed": 5}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
ASK = {"model": "any", "messages": [{"role": "user", "content": "Weather?"}], "tools": TOOLS}


def checked(**request):
    """The reply, after its JSON was validated."""
    raw = client.chat.completions.with_raw_response.create(**request)
    return ChatCompletion.model_validate_json(raw.text if isinstance(raw.text, str) else raw.text())


def streamed(**request):
    """The chunks, each validated again from its own fields."""
    return [
        ChatCompletionChunk.model_validate(chunk.model_dump(exclude_unset=True))
        for chunk in client.chat.completions.create(stream=True, **request)
    ]


whole = checked(**HELLO, n=2, logprobs=True, top_logprobs=1, max_completion_tokens=7, temperature=0.5)
chunks = streamed(**HELLO, stream_options={"include_usage": True})
called = checked(**ASK)
(call,) = called.choices[0].message.tool_calls
result = {"role": "tool", "tool_call_id": call.id, "content": "18 C"}
after = [*ASK["messages"], called.choices[0].message.model_dump(exclude_none=True), result]
answer = checked(**ASK | {"messages": after})
pieces = [piece for chunk in streamed(**ASK) for piece in chunk.choices[0].delta.tool_calls or ()]
forced = checked(**ASK, tool_choice="required").choices[0].message.tool_calls[0]


class Weather(pydantic.BaseModel):
    """What an answer is parsed into."""

    city: str


parsed = client.chat.completions.parse(**HELLO, response_format=Weather).choices[0].message.parsed
try:
    client.chat.completions.create(**ASK, response_format={"type": "json_object"})
    refused = None
except openai.InternalServerError as error:
    refused = error.status_code
told = {
    "texts": [choice.message.content for choice in whole.choices],
    "tokens": [each.token for each in whole.choices[0].logprobs.content],
    "usage": [whole.usage.total_tokens, chunks[-1].usage.total_tokens],
    "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
    "reasons": [chunks[-2].choices[0].finish_reason, called.choices[0].finish_reason],
    "call": [call.function.name, json.loads(call.function.arguments)],
    "streamed_call": [pieces[0].function.name, json.loads("".join(each.function.arguments for each in pieces))],
    "answer": answer.choices[0].message.content,
    "forced": json.loads(forced.function.arguments),
    "parsed": parsed.city,
    "refused": refused,
}
print(json.dumps(told))
