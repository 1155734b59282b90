"""Texts that a language model writes while somebody watches."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tfattn import console
from tfattn.errors import DataError
from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.request import ChatMessage, Prompt, Request, refusal
from tfattn.serving.generation.scheduler import Scheduler
from tfattn.serving.models import model_store

Say = Callable[[str], None]


def generate(model: str, prompt: str, *, folder: Path, settings: Mapping[str, Any], say: Say) -> None:
    """Continue a prompt; several texts come one after another, each under its number.

    Args:
        model: an export's folder, or its name.
        prompt: what to continue.
        folder: of all exports.
        settings: of `Request`; what is None is as the export says.
        say: hears pieces of text as they come.

    Raises:
        DataError: the prompt is too long, or a setting makes no sense.
        ServingError: there is no such model, or it continues no texts.
    """
    request = _request(prompt, settings)
    with _opened(model, folder) as scheduler:
        _told(scheduler, request, say)


def chat(model: str, turns: Iterable[str], *, folder: Path, settings: Mapping[str, Any], say: Say) -> None:
    """Answer one turn after another, each in the light of those before.

    Args:
        turns: what the user says, as it comes; empty ones are passed over.
        model, folder, settings, say: as for `generate`.
    """
    messages: list[ChatMessage] = []
    _request("", settings)  # what is wrong is said before anything is loaded
    with _opened(model, folder) as scheduler:
        for turn in turns:
            if turn.strip():
                messages.append(ChatMessage(role="user", content=turn.strip()))
                answer = _told(scheduler, _request(tuple(messages), settings), say)
                messages.append(ChatMessage(role="assistant", content=answer))


def _opened(model: str, folder: Path) -> Scheduler:
    return Scheduler(SavedModel(model_store.find(model, folder)))


def _request(prompt: Prompt, settings: Mapping[str, Any]) -> Request:
    try:
        return Request(prompts=(prompt,), **{name: value for name, value in settings.items() if value is not None})
    except ValidationError as error:
        failure = refusal(error)
        remedy = "tfattn generate --help tells what each may be."
        raise DataError("a setting makes no sense", received=failure.message, remedy=remedy) from None


def _told(scheduler: Scheduler, request: Request, say: Say) -> str:
    """Say what is written, and return the first text."""
    texts = [""] * request.n
    begun = time.perf_counter()
    first, num_tokens = None, 0
    try:
        for piece in scheduler.generate(request):
            first = first or time.perf_counter()
            texts[piece.index] += piece.text
            num_tokens += piece.usage.written if piece.usage else 0
            if request.n == 1:
                say(piece.text)
    except Failure as failure:
        raise DataError("the model refuses the prompt", received=failure.message) from None
    for number, text in enumerate(texts, start=1):
        say(f"[{number}] {text}\n" if request.n > 1 else "\n" * (not text.endswith("\n")))
    seconds = time.perf_counter() - begun
    console.note(
        f"{num_tokens} tokens, {num_tokens / seconds:.1f} a second, the first after {(first or begun) - begun:.2f} s"
    )
    return texts[0]
