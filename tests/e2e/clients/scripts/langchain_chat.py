"""What a program does with LangChain's `ChatOpenAI`: ask, stream, bind a function, whole and streamed."""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"18 C in {city}"


model = ChatOpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none", max_retries=0, model="any")
bound = model.bind_tools([weather])
question = HumanMessage("Weather?")
called = bound.invoke([question])
result: ToolMessage = weather.invoke(called.tool_calls[0])
weather_schema = {"title": "weather", "description": "Of a city", "type": "object"}
weather_schema["properties"] = {"city": {"type": "string"}}
gathered = None
for chunk in bound.stream([question]):
    gathered = chunk if gathered is None else gathered + chunk
schema = {"title": "place", "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
told = {
    "json": model.with_structured_output(schema, method="json_schema").invoke("Hello?"),
    "function": model.with_structured_output(weather_schema, method="function_calling").invoke("Weather?"),
    "text": model.invoke("Hello?").content,
    "streamed": "".join(chunk.content for chunk in model.stream("Hello?")),
    "call": [called.tool_calls[0]["name"], called.tool_calls[0]["args"]],
    "streamed_call": [gathered.tool_calls[0]["name"], gathered.tool_calls[0]["args"]],
    "answer": bound.invoke([question, called, result]).content,
}
print(json.dumps(told))
