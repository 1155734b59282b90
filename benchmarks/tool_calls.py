"""Tool calls: validity, and how often the right tool is chosen, with the two tools of OpenAI's function calling guide.

SmolLM2 (135M, published weights with 8 bits, LiteRT) on the built-in server, asked by the openai client, greedily. The
prompts were written before any answer was seen; the right tool of each is known.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import openai

from benchmarks.results import Table
from benchmarks.serving.running import running
from tfattn import published
from tfattn.litert.decoder_file import FOLDER

MODEL, CLIENTS = "smollm2", 8
MAX_TOKENS = {"required": 128, "auto": 64}


def _function(name: str, description: str, **properties: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


WEATHER, MAIL = "get_weather", "send_email"
TOOLS = [
    _function(
        WEATHER, "Get current temperature for a given location.", location="City and country e.g. Bogotá, Colombia"
    ),
    _function(
        MAIL,
        "Send an email to a given recipient with a subject and message.",
        to="The recipient email address.",
        subject="Email subject line.",
        body="Body of the email message.",
    ),
]
SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
CITIES = ("Paris", "Bogotá", "Tokyo", "Nairobi", "Oslo", "Lima", "Hanoi", "Cairo", "Quito", "Madrid")
CITIES += ("Athens", "Dublin", "Riga", "Seoul", "Delhi", "Accra", "Rome", "Vienna", "Zagreb", "Toronto")
WEATHER_PROMPTS = ("What is the weather like in {} today?", "How warm is it in {}?", "Is it cold in {} now?")
WEATHER_PROMPTS += ("Tell me the temperature in {}.", "Do I need a coat in {} this morning?")
NAMES = ("ann", "bob", "carla", "dmitri", "elif", "fatima", "george", "hana", "ivan", "julia")
NAMES += ("kofi", "lena", "mario", "nadia", "omar", "petra", "quentin", "rosa", "sven", "tara")
MAIL_PROMPTS = ("Send an email to {}@example.com saying hi.", "Write to {}@example.com that I am late.")
MAIL_PROMPTS += ("Email {}@example.com about the meeting.", "Please mail {}@example.com our new address.")
MAIL_PROMPTS += ("Let {}@example.com know by email that the report is done.",)
PROMPTS = [(text.format(city), WEATHER) for text in WEATHER_PROMPTS for city in CITIES]
PROMPTS += [(text.format(name), MAIL) for text in MAIL_PROMPTS for name in NAMES]


class Answer(NamedTuple):
    """An answer: whether it ended before the limit of tokens, its content, and its calls as names and arguments."""

    is_whole: bool
    content: str
    calls: tuple[tuple[str, str], ...]


def main() -> Iterator[Table]:
    """Ask every prompt whole and streamed, where a call is required and where it is free."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(_models(Path(folder)), engine="litert", texts=CLIENTS, timeout_seconds=120) as server,
        openai.OpenAI(base_url=f"{server.rest}/v1", api_key="none", max_retries=0) as client,
    ):
        yield measure(client)


def measure(client: openai.OpenAI) -> Table:
    """Count valid calls and right tools."""
    rows, notes = [], []
    for choice in MAX_TOKENS:
        answers = {stream: _ask_all(client, choice, stream) for stream in (False, True)}
        same = sum(one == other for one, other in zip(*answers.values(), strict=True))
        notes.append(f"With `{choice}`, {same} of {len(PROMPTS)} streamed answers equal the whole answers.")
        for stream, found in answers.items():
            whole = [answer for answer in found if answer.is_whole]
            calls = [
                (answer.calls[0], right) for answer, (_, right) in zip(found, PROMPTS, strict=True) if answer.calls
            ]
            valid = sum(all(map(_is_valid, answer.calls)) for answer in whole)
            rights = {tool: sum(call[0] == right == tool for call, right in calls) for tool in (WEATHER, MAIL)}
            rows.append(
                [
                    f"{choice}, {'streamed' if stream else 'whole'}",
                    f"{len(found) - len(whole)}",
                    f"{valid} of {len(whole)}",
                    f"{len(calls)}",
                    f"{sum(rights.values())}",
                    *(f"{count}" for count in rights.values()),
                ]
            )
    columns = ["tool_choice", "cut", "valid of the others", "calls", "right tool"]
    limits = ", ".join(f"{limit} tokens with `{choice}`" for choice, limit in MAX_TOKENS.items())
    notes.append(
        f"Cut: after {limits}. "
        "Valid: each call is JSON that matches the schema of its function; an answer without a call is valid with "
        f"`auto`. Each tool is right for half of the {len(PROMPTS)} prompts."
    )
    return Table(
        title=f"{MODEL}, int8, {len(PROMPTS)} prompts with two tools",
        columns=[*columns, WEATHER, MAIL],
        rows=rows,
        notes=notes,
    )


def _models(folder: Path) -> Path:
    """Export the model with a LiteRT file next to its SavedModel."""
    models = folder / "models"
    version = published.export(MODEL, folder=models)
    (models / "models.config").unlink()  # the path of the folder inside a container
    litert = published.export(MODEL, folder=folder / "litert", for_litert=True)
    shutil.copytree(litert / FOLDER, version / FOLDER)
    return models


def _ask_all(client: openai.OpenAI, choice: str, stream: bool) -> list[Answer]:
    def ask(prompt: tuple[str, str]) -> Answer:
        answer = client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": prompt[0]}],
            tools=TOOLS,
            tool_choice=choice,
            parallel_tool_calls=False,
            temperature=0,
            max_completion_tokens=MAX_TOKENS[choice],
            stream=stream,
        )
        return _joined(answer) if stream else _whole(answer)

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(ask, PROMPTS))


def _whole(answer: Any) -> Answer:
    (choice,) = answer.choices
    calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
    return Answer(choice.finish_reason != "length", choice.message.content or "", tuple(calls))


def _joined(stream: Any) -> Answer:
    content, calls, finish_reason = "", [], None
    for chunk in stream:
        (choice,) = chunk.choices
        finish_reason = choice.finish_reason or finish_reason
        content += choice.delta.content or ""
        for call in choice.delta.tool_calls or ():
            if call.function.name:
                calls.append((call.function.name, ""))
            calls[call.index] = (calls[call.index][0], calls[call.index][1] + call.function.arguments)
    return Answer(finish_reason != "length", content, tuple(calls))


def _is_valid(call: tuple[str, str]) -> bool:
    name, arguments = call
    try:
        jsonschema.validate(json.loads(arguments), SCHEMAS[name])
    except (ValueError, KeyError, jsonschema.ValidationError):
        return False
    return True
