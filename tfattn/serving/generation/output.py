"""The output of a sequence: chunks of text with their tokens, and the detokenizer that makes text of token bytes."""

import codecs
import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tfattn.formats.tool_calls import overlap

FinishReason = Literal["stop", "length"]


class Token(NamedTuple):
    """A generated token.

    Attributes:
        token_id: its id.
        text: its bytes, each as the character with that code point (latin-1): a token may be a part of a character.
        log_probability: by the model itself, before temperature and penalties; None for the first token of a prompt.
        top_logprobs: bytes and log probabilities of the most likely tokens at its position.
    """

    token_id: int
    text: str
    log_probability: float | None
    top_logprobs: tuple[tuple[str, float], ...] = ()


class Usage(NamedTuple):
    """Numbers of tokens of a sequence.

    Attributes:
        prompt: tokens of the prompt.
        cached: tokens of the prompt whose keys and values were in a cache.
        written: generated tokens, without the end token.
    """

    prompt: int
    cached: int
    written: int

    def without_prompt(self) -> "Usage":
        """Return the usage of a sequence whose prompt is counted with another sequence."""
        return self._replace(prompt=0, cached=0)


@dataclass(frozen=True)
class OutputChunk:
    """Newly generated text of a sequence.

    Attributes:
        index: of the sequence in its request; sequences of the first prompt come first.
        text: whole characters that no stop string can remove any more.
        tokens: the tokens of the text, if the request asks for log probabilities.
        finish_reason: in the last chunk: "stop" after an end token or a stop string, "length" at the token limit.
        usage: in the last chunk.
        is_prompt: whether the chunk is the prompt.
    """

    index: int
    text: str = ""
    tokens: tuple[Token, ...] = field(default=())
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    is_prompt: bool = False

    def to_bytes(self) -> bytes:
        """Serialize the chunk for another process."""
        values = [self.index, self.text, self.tokens, self.finish_reason, self.usage, self.is_prompt]
        return json.dumps(values).encode()

    @classmethod
    def from_bytes(cls, message: bytes) -> "OutputChunk":
        """Deserialize the result of `to_bytes`."""
        index, text, tokens, finish_reason, usage, is_prompt = json.loads(message)
        return cls(index, text, tuple(map(_token, tokens)), finish_reason, Usage(*usage) if usage else None, is_prompt)


def _token(values: list[Any]) -> Token:
    token_id, text, log_probability, top_logprobs = values
    return Token(token_id, text, log_probability, tuple((text, value) for text, value in top_logprobs))


class Detokenizer:
    """Incremental conversion of token bytes to text.

    It holds back the bytes of an incomplete character, and bytes that may start a stop string. As in the texts that an
    export generates by itself, an incomplete character at the end is dropped, and other invalid UTF-8 becomes U+FFFD.
    The returned strings together are the whole text.

    Args:
        stop: the stop strings, none of them empty.

    Attributes:
        is_stopped: whether a stop string was found; the text ends before it.
        num_bytes: the number of token bytes that the returned text represents.

    Example:
        >>> detokenizer = Detokenizer(["END"])
        >>> [detokenizer.add(token) for token in (b"caf\\xc3", b"\\xa9 E", b"N", b"E")], detokenizer.end()
        (['caf', 'é ', '', 'EN'], 'E')
    """

    def __init__(self, stop: Iterable[str] = ()):
        self.is_stopped = False
        self.num_bytes = 0
        self._stop = [text.encode("utf-8", "replace") for text in stop]
        self._held = b""
        self._num_added = 0  # bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending: deque[tuple[int, Token]] = deque()  # each with the position of its first byte

    def add(self, token_bytes: bytes, *, token: Token | None = None, may_stop: bool = True) -> str:
        """Add the bytes of a token, and return the new text.

        Args:
            token_bytes: the bytes.
            token: the token, to be returned by `take_tokens`.
            may_stop: whether a complete stop string ends the text.
        """
        if token is not None:
            self._pending.append((self._num_added, token))
        self._num_added += len(token_bytes)
        self._held += token_bytes
        found = [index for stop in self._stop if may_stop and (index := self._held.find(stop)) >= 0]
        if found:
            self.is_stopped = True
            return self._decode(min(found))
        return self._decode(len(self._held) - max((overlap(self._held, stop) for stop in self._stop), default=0))

    def end(self) -> str:
        """Return the text that was held back for a stop string. Nothing may be added after that."""
        return self._decode(len(self._held))

    def take_tokens(self) -> tuple[Token, ...]:
        """Return each token once, as soon as the text of its first byte has been returned."""
        tokens = []
        while self._pending:
            start, token = self._pending[0]
            if start > self.num_bytes or (start == self.num_bytes and token.text):
                break
            tokens.append(token)
            self._pending.popleft()
        return tuple(tokens)

    def _decode(self, count: int) -> str:
        """Decode the first `count` held bytes, without an incomplete character at their end."""
        released, self._held = self._held[:count], self._held[count:]
        before = len(self._decoder.getstate()[0])
        text = self._decoder.decode(released)
        self.num_bytes += before + count - len(self._decoder.getstate()[0])
        return text
