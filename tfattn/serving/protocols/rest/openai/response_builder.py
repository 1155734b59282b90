"""Serialization of OpenAI responses: a single object, or an event for each piece of a stream."""

import itertools
import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tfattn.serving.generation.output import OutputChunk, Token, Usage
from tfattn.serving.generation.request import Request

DONE = b"data: [DONE]\n\n"


class ResponseBuilder(ABC):
    """A builder of the response to a request.

    Args:
        model: the model's name.
        request: the request to the model.
    """

    object_type: str  # of a complete response
    piece_object_type: str  # of an event
    prefix: str  # of ids

    def __init__(self, model: str, request: Request):
        self._head = {"id": f"{self.prefix}-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}
        self._num_texts = len(request.prompts) * request.n
        self._n = request.n

    @abstractmethod
    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        """Return the choice of a complete text from all its pieces."""

    @abstractmethod
    def piece_choice(self, piece: OutputChunk) -> dict[str, Any]:
        """Return the choice of one piece of a text."""

    def select(self, texts: list[list[OutputChunk]]) -> list[list[OutputChunk]]:
        """Select the texts to return, each a list of its pieces; all texts by default."""
        return texts

    def first_events(self) -> list[bytes]:
        """Return the events before the first piece."""
        return []

    def event(self, piece: OutputChunk, *, include_usage: bool) -> bytes:
        """Return the event of a piece."""
        return self._event([self.piece_choice(piece)], {"usage": None} if include_usage else {})

    def usage_event(self, usages: Sequence[tuple[int, Usage]]) -> bytes:
        """Return the event with the numbers of tokens, after the last piece."""
        return self._event([], {"usage": self.usage(usages)})

    def response(self, pieces: Sequence[OutputChunk]) -> bytes:
        """Return the complete response from all pieces."""
        texts = [[piece for piece in pieces if piece.index == index] for index in range(self._num_texts)]
        usages = [(piece.index, piece.usage) for piece in pieces if piece.usage is not None]
        choices = [{**self.choice(text), "index": index} for index, text in enumerate(self.select(texts))]
        return _json({**self._head, "object": self.object_type, "choices": choices, "usage": self.usage(usages)})

    def usage(self, usages: Sequence[tuple[int, Usage]]) -> dict[str, Any]:
        """Return the total numbers of tokens. A prompt counts once, independent of its number of texts."""
        firsts = [usage for index, usage in usages if index % self._n == 0]
        read, written = sum(usage.prompt for usage in firsts), sum(usage.written for _, usage in usages)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": sum(usage.cached for usage in firsts)},
        }

    def _event(self, choices: list[dict[str, Any]], more: dict[str, Any]) -> bytes:
        return server_sent_event({**self._head, "object": self.piece_object_type, "choices": choices, **more})


def server_sent_event(document: dict[str, Any]) -> bytes:
    """Encode a server-sent event."""
    return b"data: %s\n\n" % _json(document)


def joined_tokens(pieces: Sequence[OutputChunk]) -> list[Token]:
    """Return the tokens of several pieces as one list."""
    return list(itertools.chain.from_iterable(piece.tokens for piece in pieces))


def decode_token(token: str) -> str:
    """Decode a token as UTF-8, with U+FFFD for invalid bytes."""
    return token.encode("latin-1").decode("utf-8", "replace")


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()
