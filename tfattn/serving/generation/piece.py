"""What is told of texts while they are written."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

FinishReason = Literal["stop", "length"]


class Token(NamedTuple):
    """A token that was written.

    Attributes:
        token_id: its number.
        text: its bytes, each as the character of that number (latin-1): tokens may be parts of characters.
        log_probability: by the model itself, before temperature and penalties.
        likeliest: bytes and log-probabilities of the likeliest tokens at its place.
    """

    token_id: int
    text: str
    log_probability: float
    likeliest: tuple[tuple[str, float], ...] = ()


class Usage(NamedTuple):
    """How many tokens a text took.

    Attributes:
        prompt: of its prompt.
        cached: of these, how many had been read before.
        written: of the text, without its end.
    """

    prompt: int
    cached: int
    written: int


@dataclass(frozen=True)
class Piece:
    """What a text has more than before.

    Attributes:
        index: which text it is: those of the first prompt come first.
        text: whole characters that belong to it for certain.
        tokens: those whose text that is, where probabilities are asked for.
        finish_reason: with the last piece: "stop" where the model or a stop string ended it, "length" where it was cut.
        usage: with the last piece.
    """

    index: int
    text: str = ""
    tokens: tuple[Token, ...] = field(default=())
    finish_reason: FinishReason | None = None
    usage: Usage | None = None

    def message(self) -> bytes:
        """Write it for the line between processes."""
        return json.dumps([self.index, self.text, self.tokens, self.finish_reason, self.usage]).encode()

    @classmethod
    def of(cls, message: bytes) -> "Piece":
        """Read what `message` has written."""
        index, text, tokens, finish_reason, usage = json.loads(message)
        return cls(index, text, tuple(map(_token, tokens)), finish_reason, Usage(*usage) if usage else None)


def _token(values: list[Any]) -> Token:
    token_id, text, log_probability, likeliest = values
    return Token(token_id, text, log_probability, tuple((text, value) for text, value in likeliest))
