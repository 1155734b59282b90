"""A guide for a text that is free until it contains a trigger, such as the tag of a tool call."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np

from tfattn.guidance.guide import Guide


class Trigger(NamedTuple):
    """A trigger in the tokens of a model.

    A token may complete the trigger and continue with the text after it. Only tokens that continue as every guided text
    does are allowed.

    Attributes:
        text: the trigger.
        masks: (len(text), V) bool, the allowed tokens after each number of bytes of an incomplete trigger.
        token_bytes: the bytes of each of the V tokens.
        characters: the token of each character of the guided text up to where guided texts differ.
    """

    text: bytes
    masks: np.ndarray
    token_bytes: Sequence[bytes]
    characters: dict[str, int]

    @classmethod
    def of(cls, text: str, common: str, token_bytes: Sequence[bytes]) -> "Trigger":
        """Find the tokens.

        Args:
            text: the trigger.
            common: the common start of all guided texts, which starts with the trigger.
            token_bytes: the bytes of each of the V tokens; each character of `common` must be a token.
        """
        trigger, start = text.encode(), common.encode()
        masks = np.ones((len(trigger), len(token_bytes)), bool)
        for token_id, token in enumerate(token_bytes):
            if trigger[-1:] in token:
                for length in range(len(trigger)):
                    _, found, rest = (trigger[:length] + token).partition(trigger)
                    masks[length, token_id] = not found or start.startswith(trigger + rest)
        ids = {token: token_id for token_id, token in enumerate(token_bytes)}
        return cls(trigger, masks, token_bytes, {character: ids[character.encode()] for character in set(common)})


class TriggeredGuide:
    """A guide that allows any text without a trigger, and guides the text from the trigger on.

    Before the trigger, only tokens that complete the trigger and continue differently from all guided texts are masked
    out, so a text without the trigger is the same as without a guide.

    Args:
        guide: the guide of the text from the trigger on, at its start.
        trigger: the trigger.

    Attributes:
        mask, is_finished: see `Guide`.
        may_stop: whether stop strings and stop tokens may end the text: until the trigger.

    Example:
        >>> tokens = [bytes([value]) for value in range(128)] + [b"a>1", b"a>2", b""]
        >>> field = {"begin": "<a>1", "schema": {"type": "null"}, "end": "</a>", "path": "[0]"}
        >>> guided = {"tool_calls": {"calls": [field], "trigger": "<a>", "parallel": False}}
        >>> guide = Guides(tokens).guide(guided, end_ids=[130])
        >>> guide.advance(ord("<"))
        >>> np.flatnonzero(~guide.allowed())
        array([129])
        >>> guide.advance(128)
        >>> np.flatnonzero(guide.allowed())
        array([110])
    """

    def __init__(self, guide: Guide, trigger: Trigger):
        self._guide, self._trigger = guide, trigger
        self._tail = b""  # the end of the text that may be the start of the trigger
        self._free: Future[np.ndarray] = Future()
        self._free.set_result(trigger.masks[0])
        self.may_stop = True

    @property
    def mask(self) -> Future[np.ndarray]:
        return self._free if self.may_stop else self._guide.mask

    @property
    def is_finished(self) -> bool:
        return not self.may_stop and self._guide.is_finished

    def allowed(self) -> np.ndarray:
        """Wait for `mask` and return it, as `Guide.allowed`."""
        return self.mask.result()

    def may_end_at(self, token_id: int) -> bool:
        """Return whether an end token or stop token ends the text, as `Guide.may_end_at`."""
        return self.may_stop or self._guide.may_end_at(token_id)

    def advance(self, token_id: int) -> None:
        """Accept a token, as `Guide.advance`."""
        if not self.may_stop:
            self._guide.advance(token_id)
            return
        if not self.allowed()[token_id]:
            raise ValueError(f"the token {token_id} is not allowed")
        text = self._tail + self._trigger.token_bytes[token_id]
        _, found, rest = text.partition(self._trigger.text)
        if found:
            self.may_stop = False
            self._guide.skip([self._trigger.characters[character] for character in (found + rest).decode()])
            return
        longest = min(len(text), len(self._trigger.text) - 1)
        lengths = (length for length in range(longest, 0, -1) if self._trigger.text.startswith(text[-length:]))
        length = next(lengths, 0)
        self._tail = text[len(text) - length :]
        self._free = Future()
        self._free.set_result(self._trigger.masks[length])
