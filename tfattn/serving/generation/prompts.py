"""The tokens of prompts: of texts, and of chats by the model's template."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from tfattn.formats.chat_template import Message, Piece
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.tensors import strings
from tfattn.serving.generation.description import TOKENIZE, Description
from tfattn.serving.generation.request import ChatMessage, Prompt


class Model(Protocol):
    """The part of `SavedModel` that computes."""

    def run(
        self, signature: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Compute outputs of a signature."""


def is_chat(prompt: Prompt) -> bool:
    """Tell whether a prompt is a list of messages."""
    return not isinstance(prompt, str) and bool(prompt) and isinstance(prompt[0], ChatMessage)


class Prompts:
    """Turns prompts into tokens.

    Names of special tokens in texts are letters like all others: only a template writes special tokens.

    Args:
        model: the model, which has a signature `tokenize`.
        description: what its export says of it.
    """

    def __init__(self, model: Model, description: Description):
        self._model, self._description = model, description
        self._longest_token = max(map(len, description.token_bytes), default=1) or 1

    def token_ids(self, prompt: Prompt) -> np.ndarray:
        """Return the tokens (P,) int32 of a prompt, one at least, with room for one more in the context.

        Raises:
            Failure: INVALID_ARGUMENT, it is too long, has tokens that are not of the vocabulary, or is a chat although
                the model has no template for chats.
        """
        if not prompt:  # as a document begins, behind the end of another
            token_ids = np.array(self._description.end_ids[:1], np.int32)
        elif isinstance(prompt, str):
            token_ids = self._of([Piece(prompt)])
        elif not is_chat(prompt):
            token_ids = self._checked(prompt)
        elif (template := self._description.chat_template) is None:
            raise invalid("The model has no chat template: it continues texts, and does not answer messages")
        else:
            said = [Message(one.role, one.content) for one in prompt]
            token_ids = self._of(template.pieces(said, is_answered=False))
        if len(token_ids) >= self._description.context:
            raise self._too_long(f"{len(token_ids)}")
        return token_ids

    def written_as(self, words: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Return the tokens of each word, at the beginning of a text and after a space."""
        if not words:
            return ()
        texts = [form.encode("utf-8", "replace") for word in words for form in (word, f" {word.lstrip()}")]
        return tuple(dict.fromkeys(tuple(row.tolist()) for row in self._divided(texts) if len(row)))

    def _of(self, pieces: Sequence[Piece]) -> np.ndarray:
        texts = [piece.text.encode("utf-8", "replace") for piece in pieces if not piece.is_special]
        least = sum(map(len, texts)) // self._longest_token
        if least > self._description.context:  # there is no need to divide megabytes to know
            raise self._too_long(f"{least} or more")
        divided = iter(self._divided(texts))
        special = self._description.special_tokens
        ids = [np.array([special[piece.text]]) if piece.is_special else next(divided) for piece in pieces]
        return np.concatenate(ids).astype(np.int32)

    def _divided(self, texts: Sequence[bytes]) -> list[np.ndarray]:
        outputs = self._model.run(TOKENIZE, {"text": strings(texts)})
        return [row[:length] for row, length in zip(outputs["token_ids"], outputs["lengths"], strict=True)]

    def _checked(self, token_ids: Sequence[int]) -> np.ndarray:
        known = self._description.vocabulary_size
        for token_id in token_ids:
            if not 0 <= token_id < known:
                raise invalid(f"The prompt has the token {token_id}; the vocabulary has those from 0 to {known - 1}")
        return np.array(token_ids, np.int32)

    def _too_long(self, length: str) -> Failure:
        context = self._description.context
        return invalid(
            f"The prompt has {length} tokens, and the model's context is {context} tokens for prompt and text. "
            "Shorten the prompt"
        )
