"""The ChatML template of chats, used by SmolLM2 and other models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Role = Literal["system", "user", "assistant"]
ASSISTANT: Role = "assistant"


class Message(NamedTuple):
    """A message of a chat."""

    role: Role
    content: str


class Piece(NamedTuple):
    """A part of a formatted chat that is tokenized separately.

    Attributes:
        text: the text, or the name of a special token.
        is_special: whether `text` is the name of a special token.
        is_answer: whether the piece is written by the assistant.
    """

    text: str
    is_special: bool = False
    is_answer: bool = False


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """A chat template. A message is `begin`, its role, a line feed, its content, `end`, and a line feed.

    Args:
        begin, end: special tokens.
        system: system message of chats without a system message; None for no message.

    Example:
        >>> pieces = ChatTemplate().pieces([Message("user", "Hi")], is_answered=False)
        >>> "".join(piece.text for piece in pieces)
        '<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n'
    """

    begin: str = "<|im_start|>"
    end: str = "<|im_end|>"
    system: str | None = None

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that the vocabulary must have."""
        return self.begin, self.end

    def pieces(self, messages: Sequence[Message], *, is_answered: bool) -> list[Piece]:
        """Format a chat.

        Args:
            messages: the messages, in order.
            is_answered: whether the chat is complete; otherwise a generation prompt for the assistant is added.
        """
        if self.system is not None and (not messages or messages[0].role != "system"):
            messages = [Message("system", self.system), *messages]
        found: list[Piece] = []
        for role, content in messages:
            is_answer = role == ASSISTANT
            # A separate answer has the same tokens as text that the model generates after the prompt.
            body = [Piece(f"{role}\n"), Piece(content, is_answer=True)] if is_answer else [Piece(f"{role}\n{content}")]
            found += [Piece(self.begin, is_special=True), *body]
            found += [Piece(self.end, is_special=True, is_answer=is_answer), Piece("\n")]
        return found if is_answered else [*found, Piece(self.begin, is_special=True), Piece(f"{ASSISTANT}\n")]
