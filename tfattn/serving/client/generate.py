"""Text generation in the terminal: continuations of a prompt, and chats."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tfattn import console, native
from tfattn.errors import DataError
from tfattn.litert import Engine
from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.language_models import open_language_model
from tfattn.serving.generation.description import LanguageModel
from tfattn.serving.generation.output import Token
from tfattn.serving.generation.request import ChatMessage, Prompt, Request, refusal
from tfattn.serving.generation.scheduler import Scheduler
from tfattn.serving.models import model_store

Say = Callable[[str], None]


def generate(model: str, prompt: str, *, folder: Path, engine: Engine, settings: Mapping[str, Any], say: Say) -> None:
    """Continue a prompt, and print the texts; several texts are printed one after another, with their numbers.

    Args:
        model: an export's folder, or its name.
        prompt: the prompt.
        folder: the folder of all exports.
        engine: see `open_language_model`.
        settings: fields of `Request`; the defaults are those of the export.
        say: prints a piece of text.

    Raises:
        DataError: the prompt is too long, or a setting is invalid.
        ServingError: there is no such model, or it is not a language model.
    """
    request = _request(prompt, settings)
    with _scheduler(model, folder, engine) as scheduler:
        _print_texts(scheduler, request, say)


def chat(
    model: str, turns: Iterable[str], *, folder: Path, engine: Engine, settings: Mapping[str, Any], say: Say
) -> None:
    """Answer messages of a user, each with all earlier messages as its context.

    Args:
        turns: the messages of the user; empty messages are skipped.
        model, folder, engine, settings, say: as for `generate`.
    """
    messages: list[ChatMessage] = []
    _request("", settings)  # invalid settings are reported before the model is loaded
    with _scheduler(model, folder, engine) as scheduler:
        for turn in turns:
            if turn.strip():
                messages.append(ChatMessage(role="user", content=turn.strip()))
                answer = _print_texts(scheduler, _request(tuple(messages), settings), say)
                messages.append(ChatMessage(role="assistant", content=answer))


def _scheduler(model: str, folder: Path, engine: Engine) -> Scheduler:
    path = model_store.find(model, folder)

    def saved_model() -> LanguageModel:
        return native.with_tensorflow("tfattn.serving.engine.saved_model").SavedModel(path)

    with console.step(f"loading {path}"):
        threads = len(os.sched_getaffinity(0))
        return Scheduler(open_language_model(path, engine=engine, saved_model=saved_model, num_threads=threads))


def _request(prompt: Prompt, settings: Mapping[str, Any]) -> Request:
    try:
        return Request(prompts=(prompt,), **settings)
    except ValidationError as error:
        failure = refusal(error)
        remedy = "`tfattn generate --help` explains the settings."
        raise DataError("a setting is invalid", received=failure.message, remedy=remedy) from None


def _print_texts(scheduler: Scheduler, request: Request, say: Say) -> str:
    """Print the texts of a request while they are generated, and return the first text."""
    texts, tokens = [""] * request.n, [[] for _ in range(request.n)]
    start = time.perf_counter()
    first, num_tokens = None, 0
    try:
        for chunk in scheduler.generate(request):
            first = first or time.perf_counter()
            texts[chunk.index] += chunk.text
            tokens[chunk.index] += chunk.tokens
            num_tokens += chunk.usage.written if chunk.usage else 0
            if request.n == 1:
                say(chunk.text)
    except Failure as failure:
        raise DataError("the model refuses the prompt", received=failure.message) from None
    for number, text in enumerate(texts, start=1):
        say(f"[{number}] {text}\n" if request.n > 1 else "\n" * (not text.endswith("\n")))
        for token in tokens[number - 1]:
            console.note(_log_probabilities(token))
    end, first = time.perf_counter(), first or start
    # The time until the first token is not in the rate.
    rate = f", then {(num_tokens - request.n) / (end - first):.1f} tokens/s" if num_tokens > request.n else ""
    console.note(f"{num_tokens} tokens: first token after {first - start:.2f} s{rate}")
    return texts[0]


def _log_probabilities(token: Token) -> str:
    """Return a line with the log probabilities of a token and of the most likely tokens at its position."""
    pairs = [(token.text, token.log_probability), *token.top_logprobs]
    shown = [f"{text.encode('latin-1').decode('utf-8', 'replace')!r} {value:.3f}" for text, value in pairs]
    return "  ".join([f"{shown[0]}:" if shown[1:] else shown[0], *shown[1:]])
