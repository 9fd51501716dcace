"""Calls of functions and JSON through `dlsp api`'s chat: `python -m bench.calls`.

Requests in plain words, each of which one of 20 functions answers, with arguments that are known. Each is asked three
ways: `auto`, where the model may call one of four functions that it is offered; `required`, where a constraint forces a
call; and `json`, where a constraint forces an object of the function's schema. Told are the share of requests that were
*answered* so (by a call, or by an object; with `auto` the model may answer in words), of these the share that is
*valid* (the function was offered, its schema accepts the arguments), and the share of all requests whose answer *named*
the right function, and whose arguments are all *right*. Text counts as right whatever its case.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import jsonschema

from bench.api import served
from bench.command import at_least, guarded, own_engine, written
from bench.progress import progress
from dlsp.models.catalogue import find

WAYS = ("auto", "required", "json")
OFFERED = 4  # functions, the right one among them
MAX_TOKENS = 120
SYSTEM = "You are a helpful assistant."

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
TRUTH: dict[str, Any] = {"type": "boolean"}


def one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


@dataclass(frozen=True)
class Function:
    """A function, a request for it with a slot for each argument, and values for the slots."""

    name: str
    about: str
    fields: dict[str, dict[str, Any]]
    sentence: str
    values: tuple[tuple[Any, ...], ...]

    @property
    def parameters(self) -> dict[str, Any]:
        required = list(self.fields)
        return {"type": "object", "properties": self.fields, "required": required, "additionalProperties": False}

    @property
    def tool(self) -> dict[str, Any]:
        function = {"name": self.name, "description": self.about, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def requests(self, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Sentences and the arguments that they ask for: each value of each slot, in different company."""
        for number in range(count):
            chosen = [some[(number * (2 * slot + 1) + slot) % len(some)] for slot, some in enumerate(self.values)]
            arguments = dict(zip(self.fields, chosen, strict=True))
            yield self.sentence.format(**arguments), arguments


CITIES = ("Rome", "Oslo", "Lima", "Cairo", "Tokyo", "Paris", "Quito", "Delhi", "Perth", "Accra")
PEOPLE = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Niklaus", "Margaret", "Dennis", "Radia")
FILES = (
    "main.py",
    "README.md",
    "src/app.ts",
    "lib.rs",
    "index.html",
    "go.mod",
    "Makefile",
    "setup.cfg",
    "a.c",
    "b.lua",
)
NUMBERS = (3, 5, 8, 12, 20, 30, 42, 64, 75, 99)
WORDS = ("parser", "token", "session", "buffer", "thread", "socket", "cache", "index", "schema", "queue")
BRANCHES = ("main", "develop", "release", "fix-login", "docs", "next", "v2", "hotfix", "experiment", "staging")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

FUNCTIONS = (
    Function("get_weather", "Weather of a city", {"city": TEXT}, "What is the weather in {city}?", (CITIES,)),
    Function("add", "Add two numbers", {"a": WHOLE, "b": WHOLE}, "Add {a} and {b}.", (NUMBERS, NUMBERS)),
    Function("open_file", "Open a file in the editor", {"path": TEXT}, "Open the file {path}.", (FILES,)),
    Function(
        "go_to_line",
        "Move the cursor to a line of a file",
        {"path": TEXT, "line": WHOLE},
        "Go to line {line} of {path}.",
        (FILES, NUMBERS),
    ),
    Function("search_code", "Search all files for a word", {"word": TEXT}, "Search the code for {word}.", (WORDS,)),
    Function(
        "rename_symbol",
        "Rename a symbol everywhere",
        {"old": TEXT, "new": TEXT},
        "Rename {old} to {new} everywhere.",
        (WORDS, tuple(reversed(WORDS))),
    ),
    Function("checkout", "Check out a git branch", {"branch": TEXT}, "Check out the branch {branch}.", (BRANCHES,)),
    Function(
        "send_message", "Send a message to a person", {"to": TEXT, "text": TEXT}, "Tell {to}: {text}.", (PEOPLE, WORDS)
    ),
    Function(
        "set_volume", "Set the volume in percent", {"percent": WHOLE}, "Set the volume to {percent}%.", (NUMBERS,)
    ),
    Function(
        "book_table",
        "Book a table in a restaurant",
        {"people": WHOLE, "day": one_of(*DAYS)},
        "Book a table for {people} people on {day}.",
        (NUMBERS, DAYS),
    ),
    Function(
        "convert_length",
        "Convert a length to another unit",
        {"value": WHOLE, "to": one_of("km", "miles", "feet")},
        "How much are {value} metres in {to}?",
        (NUMBERS, ("km", "miles", "feet")),
    ),
    Function(
        "set_timer", "Set a timer in minutes", {"minutes": WHOLE}, "Set a timer for {minutes} minutes.", (NUMBERS,)
    ),
    Function(
        "switch_light",
        "Turn the light of a room on or off",
        {"room": one_of("kitchen", "office", "bedroom"), "on": TRUTH},
        "The light in the {room}: set on to {on}.",
        (("kitchen", "office", "bedroom"), (True, False)),
    ),
    Function("play_artist", "Play music of an artist", {"artist": TEXT}, "Play something by {artist}.", (PEOPLE,)),
    Function(
        "create_user",
        "Create a user with a role",
        {"name": TEXT, "role": one_of("admin", "editor", "viewer")},
        "Create the user {name} as {role}.",
        (PEOPLE, ("admin", "editor", "viewer")),
    ),
    Function("delete_file", "Delete a file", {"path": TEXT}, "Delete {path}, please.", (FILES,)),
    Function(
        "run_tests",
        "Run the tests in a folder that match a name",
        {"name": TEXT, "verbose": TRUTH},
        "Run the tests named {name}, with verbose {verbose}.",
        (WORDS, (True, False)),
    ),
    Function(
        "find_route",
        "Find a route between two cities",
        {"start": TEXT, "end": TEXT},
        "How do I get from {start} to {end}?",
        (CITIES, tuple(reversed(CITIES))),
    ),
    Function(
        "set_priority",
        "Set the priority of an issue",
        {"issue": WHOLE, "priority": one_of("low", "medium", "high")},
        "Set the priority of issue {issue} to {priority}.",
        (NUMBERS, ("low", "medium", "high")),
    ),
    Function("get_population", "Population of a city", {"city": TEXT}, "How many people live in {city}?", (CITIES,)),
)


def offered(number: int) -> list[Function]:
    """The functions that a request for function `number` offers."""
    return [FUNCTIONS[each] for each in sorted((number + 7 * step) % len(FUNCTIONS) for step in range(OFFERED))]


async def ask(client: httpx.AsyncClient, way: str, number: int, sentence: str) -> dict[str, Any]:
    """The message that answers a request for function `number`."""
    body: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}
    body["messages"] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sentence}]
    if way == "json":
        schema = {"name": "answer", "schema": FUNCTIONS[number].parameters}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    else:
        body |= {"tools": [each.tool for each in offered(number)], "tool_choice": way}
    answer = await client.post("/v1/chat/completions", json=body)
    answer.raise_for_status()
    return answer.json()["choices"][0]["message"]


def judged(way: str, number: int, arguments: dict[str, Any], message: dict[str, Any]) -> dict[str, bool]:
    """Whether the answer to a request for function `number` is a call or an object, is valid, names the function, and
    has the right arguments.
    """
    function, calls = FUNCTIONS[number], message.get("tool_calls") or []
    if way == "json":
        given, name = message["content"], function.name
    elif calls:
        given, name = calls[0]["function"]["arguments"], calls[0]["function"]["name"]
    else:
        return dict.fromkeys(("answered", "valid", "named", "right"), False)
    schemas = {each.name: each.parameters for each in ([function] if way == "json" else offered(number))}
    try:
        found = json.loads(given)
        jsonschema.validate(found, schemas[name])
    except (ValueError, KeyError, TypeError, jsonschema.ValidationError):
        return {"answered": True, "valid": False, "named": False, "right": False}
    same = {key: str(value).lower() for key, value in found.items()} == {
        key: str(value).lower() for key, value in arguments.items()
    }
    return {"answered": True, "valid": True, "named": name == function.name, "right": name == function.name and same}


async def measured(asked: argparse.Namespace) -> tuple[dict[str, float], list[dict[str, Any]]]:
    samples: list[dict[str, Any]] = []
    model = find(asked.model)
    async with own_engine(model), served(model) as client:
        with progress("asking", len(FUNCTIONS)) as advance:
            for number, function in enumerate(FUNCTIONS):
                for sentence, arguments in function.requests(asked.each):
                    for way in asked.ways:
                        message = await ask(client, way, number, sentence)
                        samples.append({"way": way, "request": sentence} | judged(way, number, arguments, message))
                advance()
    return {"functions": len(FUNCTIONS), "requests": len(FUNCTIONS) * asked.each} | summary(samples), samples


def summary(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The shares, by way; what is valid is a share of what was answered by a call or an object."""
    metrics: dict[str, float] = {}
    for way in dict.fromkeys(sample["way"] for sample in samples):
        own = [sample for sample in samples if sample["way"] == way]
        answered = sum(sample["answered"] for sample in own)
        metrics[f"{way}/answered"] = answered / len(own)
        metrics[f"{way}/valid"] = sum(sample["valid"] for sample in own) / max(1, answered)
        for name in ("named", "right"):
            metrics[f"{way}/{name}"] = sum(sample[name] for sample in own) / len(own)
    return {name: round(value, 4) for name, value in metrics.items()}


@guarded()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.calls", description="Measure calls of functions and JSON.")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--each", type=at_least(1), default=10, help="requests for each of 20 functions")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    asked = parser.parse_args(argv)
    metrics, samples = asyncio.run(measured(asked))
    for name, value in metrics.items():
        print(f"{name:24} {value:g}")
    words = f"{parser.prog} --model {asked.model} --each {asked.each} --ways {' '.join(asked.ways)}"
    return written(f"calls-{find(asked.model).name}", words, metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
