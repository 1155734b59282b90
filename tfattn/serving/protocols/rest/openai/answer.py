"""The objects of an answer: one for all of it, or one for each piece."""

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


class Answer(ABC):
    """What a request is answered with.

    Args:
        model: the model's name.
        request: what is asked of it.
    """

    kind: str  # of the whole
    piece_kind: str
    prefix: str  # of ids

    def __init__(self, model: str, request: Request):
        self._head = {"id": f"{self.prefix}-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}
        self._num_texts = len(request.prompts) * request.n
        self._n = request.n

    @abstractmethod
    def choice(self, pieces: Sequence[OutputChunk]) -> dict[str, Any]:
        """Return a text, of all its pieces."""

    @abstractmethod
    def piece_choice(self, piece: OutputChunk) -> dict[str, Any]:
        """Return a piece of a text."""

    def chosen(self, texts: list[list[OutputChunk]]) -> list[list[OutputChunk]]:
        """Return the texts that are returned, each of all its pieces; all of them by default."""
        return texts

    def begin(self) -> list[bytes]:
        """Return the events that come before all pieces."""
        return []

    def event(self, piece: OutputChunk, *, tells_usage: bool) -> bytes:
        """Return the event of a piece."""
        return self._event([self.piece_choice(piece)], {"usage": None} if tells_usage else {})

    def usage_event(self, usages: Sequence[tuple[int, Usage]]) -> bytes:
        """Return the event with the number of tokens, behind all pieces."""
        return self._event([], {"usage": self.usage(usages)})

    def whole(self, pieces: Sequence[OutputChunk]) -> bytes:
        """Return the answer of all pieces."""
        texts = [[piece for piece in pieces if piece.index == index] for index in range(self._num_texts)]
        usages = [(piece.index, piece.usage) for piece in pieces if piece.usage is not None]
        choices = [{**self.choice(text), "index": index} for index, text in enumerate(self.chosen(texts))]
        return _json({**self._head, "object": self.kind, "choices": choices, "usage": self.usage(usages)})

    def usage(self, usages: Sequence[tuple[int, Usage]]) -> dict[str, Any]:
        """Add up tokens by the numbers of texts; a prompt counts once, however many texts are written to it."""
        firsts = [usage for index, usage in usages if index % self._n == 0]
        read, written = sum(usage.prompt for usage in firsts), sum(usage.written for _, usage in usages)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": sum(usage.cached for usage in firsts)},
        }

    def _event(self, choices: list[dict[str, Any]], more: dict[str, Any]) -> bytes:
        return data({**self._head, "object": self.piece_kind, "choices": choices, **more})


def data(document: dict[str, Any]) -> bytes:
    """Write a server-sent event."""
    return b"data: %s\n\n" % _json(document)


def tokens_of(pieces: Sequence[OutputChunk]) -> list[Token]:
    """Return the tokens of some pieces."""
    return list(itertools.chain.from_iterable(piece.tokens for piece in pieces))


def shown(token: str) -> str:
    """Return a token as text; bytes that are no UTF-8 alone as U+FFFD."""
    return token.encode("latin-1").decode("utf-8", "replace")


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()
