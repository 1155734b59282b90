"""Serialization of OpenAI's responses: a single object, or events of a stream."""

import itertools
import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.output import OutputChunk, Token, Usage
from tfattn.serving.generation.request import Request
from tfattn.serving.protocols.rest.response import error_object

DONE = b"data: [DONE]\n\n"
Usages = Sequence[tuple[int, Usage]]  # with the index of the text


class ResponseBuilder(ABC):
    """A builder of the response to a request: either `response`, or events."""

    @abstractmethod
    def first_events(self) -> bytes:
        """Return the events before the first piece."""

    @abstractmethod
    def events(self, piece: OutputChunk) -> bytes:
        """Return the events of a piece; empty if it changes nothing yet."""

    @abstractmethod
    def last_events(self, usages: Usages) -> bytes:
        """Return the events after the last piece."""

    @abstractmethod
    def error_event(self, failure: Failure) -> bytes:
        """Return the event that ends a stream with a failure."""

    @abstractmethod
    def response(self, pieces: Sequence[OutputChunk]) -> bytes:
        """Return the complete response from all pieces."""


class ChoicesBuilder(ResponseBuilder):
    """A builder of a response with choices: the text of a completion, or the message of a chat.

    Args:
        model: the model's name.
        request: the request to the model.
        include_usage: whether a stream ends with the numbers of tokens.
    """

    object_type: str  # of a complete response
    piece_object_type: str  # of an event
    prefix: str  # of ids

    def __init__(self, model: str, request: Request, *, include_usage: bool):
        self._head = {"id": new_id(self.prefix, "-"), "created": int(time.time()), "model": model}
        self._num_texts = len(request.prompts) * request.n
        self._n = request.n
        self._include_usage = include_usage

    @abstractmethod
    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        """Return the choice of a complete text from all its pieces."""

    @abstractmethod
    def piece_choices(self, piece: OutputChunk) -> list[dict[str, Any]]:
        """Return the choices of one piece of a text, an event each."""

    def select(self, texts: list[list[OutputChunk]]) -> list[list[OutputChunk]]:
        """Select the texts to return, each a list of its pieces; all texts by default."""
        return texts

    def first_events(self) -> bytes:
        return b""

    def events(self, piece: OutputChunk) -> bytes:
        return b"".join(self._event([choice]) for choice in self.piece_choices(piece))

    def last_events(self, usages: Usages) -> bytes:
        return (self._event([], self._usage(usages)) if self._include_usage else b"") + DONE

    def error_event(self, failure: Failure) -> bytes:
        return server_sent_event(error_object(failure))

    def response(self, pieces: Sequence[OutputChunk]) -> bytes:
        texts = [[piece for piece in pieces if piece.index == index] for index in range(self._num_texts)]
        usages = [(piece.index, piece.usage) for piece in pieces if piece.usage is not None]
        choices = [{**self.choice(text), "index": index} for index, text in enumerate(self.select(texts))]
        return to_json({**self._head, "object": self.object_type, "choices": choices, "usage": self._usage(usages)})

    def _usage(self, usages: Usages) -> dict[str, Any]:
        """Return the total numbers of tokens. A prompt counts once, independent of its number of texts."""
        firsts = [usage for index, usage in usages if index % self._n == 0]
        read, written = sum(usage.prompt for usage in firsts), sum(usage.written for _, usage in usages)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": sum(usage.cached for usage in firsts)},
        }

    def _event(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        more = {"usage": usage} if self._include_usage else {}
        return server_sent_event({**self._head, "object": self.piece_object_type, "choices": choices, **more})


def new_id(prefix: str, separator: str = "_") -> str:
    """Return a new id, such as "call_" with random digits."""
    return f"{prefix}{separator}{secrets.token_hex(12)}"


def server_sent_event(document: dict[str, Any], *, name: str = "") -> bytes:
    """Encode a server-sent event, with its name if it has one."""
    return (b"event: %s\n" % name.encode() if name else b"") + b"data: %s\n\n" % to_json(document)


def joined_tokens(pieces: Sequence[OutputChunk]) -> list[Token]:
    """Return the tokens of several pieces as one list."""
    return list(itertools.chain.from_iterable(piece.tokens for piece in pieces))


def decode_token(token: str) -> str:
    """Decode a token as UTF-8, with U+FFFD for invalid bytes."""
    return token.encode("latin-1").decode("utf-8", "replace")


def to_json(document: dict[str, Any]) -> bytes:
    """Encode a document."""
    return json.dumps(document, ensure_ascii=False).encode()
