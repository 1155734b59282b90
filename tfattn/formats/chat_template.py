"""How the messages of a chat are written as one text: ChatML, as SmolLM2 and many others have it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Role = Literal["system", "user", "assistant"]
ASSISTANT: Role = "assistant"


class Message(NamedTuple):
    """What somebody says."""

    role: Role
    content: str


class Piece(NamedTuple):
    """A part of a written chat that is turned into tokens by itself.

    Attributes:
        text: of it, or the name of a special token.
        is_special: whether it is the name of one.
        is_answer: whether the assistant writes it.
    """

    text: str
    is_special: bool = False
    is_answer: bool = False


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """A message is `begin`, its role, a line end, what is said, `end`, and a line end.

    Args:
        begin, end: special tokens.
        system: what is said before a chat that does not begin with a system message; None for nothing.

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
        """The special tokens that a vocabulary has to have."""
        return self.begin, self.end

    def pieces(self, messages: Sequence[Message], *, is_answered: bool) -> list[Piece]:
        """Write a chat.

        Args:
            messages: in order.
            is_answered: whether that is all; else the assistant is to go on.
        """
        if self.system is not None and (not messages or messages[0].role != "system"):
            messages = [Message("system", self.system), *messages]
        found: list[Piece] = []
        for role, content in messages:
            is_answer = role == ASSISTANT
            # Told apart, an answer has the tokens that a model writes behind what it is asked with.
            said = [Piece(f"{role}\n"), Piece(content, is_answer=True)] if is_answer else [Piece(f"{role}\n{content}")]
            found += [Piece(self.begin, is_special=True), *said]
            found += [Piece(self.end, is_special=True, is_answer=is_answer), Piece("\n")]
        return found if is_answered else [*found, Piece(self.begin, is_special=True), Piece(f"{ASSISTANT}\n")]
