"""What a program does with Pydantic AI: an agent with a function, whole and streamed, and an answer as an object."""

import asyncio
import json
import sys

import pydantic
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=f"{sys.argv[1]}/v1", api_key="none"))


class Weather(pydantic.BaseModel):
    """What an answer is parsed into."""

    city: str


async def main() -> None:
    agent = Agent(model)

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"18 C in {city}"

    answer = (await agent.run("Weather?")).output
    async with Agent(model).run_stream("Hello?") as stream:
        streamed = await stream.get_output()
    from pydantic_ai import NativeOutput

    parsed = (await Agent(model, output_type=NativeOutput(Weather)).run("Where?")).output
    print(json.dumps({"answer": answer, "streamed": streamed, "parsed": parsed.city}))


asyncio.run(main())
