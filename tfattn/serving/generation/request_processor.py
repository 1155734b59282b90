"""The request processor: tokenization of prompts and chats, validation of token ids, and a sequence for each text."""

import dataclasses
import secrets
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as TokenIds
from typing import Any

import numpy as np

from tfattn.errors import ServingError
from tfattn.formats.chat_template import Piece, ToolMessage, plain_messages
from tfattn.guidance.guides import Guides
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.strings import strings
from tfattn.serving.generation.description import TOKENIZE, Description, LanguageModel
from tfattn.serving.generation.request import ChatMessage, Prompt, Request
from tfattn.serving.generation.sequence import Sequence, TokenRules

SEED_STEP = 0x9E3779B9  # between the seeds of the texts of one prompt


class RequestProcessor:
    """Conversion of requests to sequences. Any thread may use it.

    Args:
        model: the language model.
        description: of the model.
        speculative: whether sequences propose next tokens.
    """

    def __init__(self, model: LanguageModel, description: Description, *, speculative: bool):
        self._tokenizer = PromptTokenizer(model, description)
        self._model, self._description, self._speculative = model, description, speculative
        self._guides = Guides(description.token_bytes)

    def sequences(self, request: Request) -> list[Sequence]:
        """Return the sequences of a request: prompt by prompt, n for each.

        Raises:
            Failure: INVALID_ARGUMENT, a prompt or a constraint on the text is invalid, or not supported.
        """
        if request.echo and request.logprobs is not None and not self._model.scores_prompts:
            raise invalid("echo: this export has no log-probabilities of prompts; export the model again")
        defaults, context = self._description.defaults, self._description.context
        params = request.complete(defaults)
        seed = secrets.randbits(32) if params.seed is None else params.seed
        self._check_token_ids(request)
        banned = self._tokenizer.variants(request.bad_words)
        sequences = []
        least = 0 if params.max_tokens == 0 else 1
        for prompt in request.prompts:
            prompt_ids = self._tokenizer.token_ids(prompt, room=least, tools=request.tools)
            rules = self._rules(request, prompt, banned)
            echo = self._tokenizer.text(prompt, prompt_ids) if request.echo else None
            for choice in range(request.n):
                # A stop token may be a part of a guided text. It then ends the text before its constraint is met.
                end_ids = rules.end_ids.difference(request.stop_token_ids)
                try:
                    guide = self._guides.guide(request.guided, end_ids=end_ids)
                except ServingError as error:
                    raise invalid(str(error)) from None
                limit = min(context if params.max_tokens is None else params.max_tokens, context - len(prompt_ids))
                sequence = Sequence(
                    len(sequences),
                    prompt_ids,
                    dataclasses.replace(params, seed=seed + choice * SEED_STEP, max_tokens=limit),
                    rules=rules,
                    logit_bias=request.logit_bias,
                    guide=guide,
                    speculative=self._speculative,
                    echo=echo,
                )
                sequences.append(sequence)
        return sequences

    def _rules(self, request: Request, prompt: Prompt, banned: tuple[tuple[int, ...], ...]) -> TokenRules:
        ends = frozenset() if request.ignore_eos else self._description.ends(of_chat=is_chat(prompt))
        return TokenRules(
            allowed_ids=request.allowed_token_ids,
            banned=banned,
            min_tokens=request.min_tokens,
            end_ids=ends.union(request.stop_token_ids),
        )

    def _check_token_ids(self, request: Request) -> None:
        size = self._description.vocabulary_size
        for name in ("stop_token_ids", "allowed_token_ids", "logit_bias"):
            if wrong := [token_id for token_id in getattr(request, name) or () if token_id >= size]:
                raise invalid(f"{name}: expected tokens of the vocabulary, from 0 to {size - 1}, received {wrong[0]}")
        if request.logit_bias and not self._description.takes_logit_bias:
            raise invalid("logit_bias: this export of the model does not support it; export the model again")


class PromptTokenizer:
    """Conversion of prompts to tokens.

    Names of special tokens in a prompt are plain text: only a chat template inserts special tokens.

    Args:
        model: the language model.
        description: of the model.
    """

    def __init__(self, model: LanguageModel, description: Description):
        self._model, self._description = model, description
        self._longest_token = max(map(len, description.token_bytes), default=1) or 1

    def token_ids(self, prompt: Prompt, *, room: int = 1, tools: TokenIds[Mapping[str, Any]] = ()) -> np.ndarray:
        """Return the tokens (P,) int32 of a prompt, at least 1.

        Args:
            prompt: the prompt.
            room: the number of generated tokens that must fit into the context.
            tools: the tools that a chat describes.

        Raises:
            Failure: INVALID_ARGUMENT, the prompt is too long or has unknown tokens, or it is a chat and the model has
                no chat template.
        """
        start = np.array(self._description.start_ids, np.int32)
        if not prompt:  # a text without a prompt starts after the end of another text
            token_ids = start if start.size else np.array(self._description.end_ids[:1], np.int32)
        elif isinstance(prompt, str):
            token_ids = np.concatenate([start, self._encode([Piece(self._description.prefixed(prompt))])])
        elif not is_chat(prompt):
            token_ids = self._validated(prompt)
        elif (template := self._description.chat_template) is None:
            raise invalid("The model has no chat template: it continues texts, and does not answer messages")
        else:
            chat = [ToolMessage(message.role, message.content, message.tool_calls) for message in prompt]
            messages = plain_messages(chat, tools, system=template.system)
            token_ids = self._encode(template.pieces(messages, is_answered=False))
        if len(token_ids) + room > self._description.context:
            raise self._too_long(f"{len(token_ids)}")
        return token_ids

    def text(self, prompt: Prompt, token_ids: np.ndarray) -> str:
        """Return the text of a prompt that is a text or token ids."""
        if isinstance(prompt, str):
            return prompt
        return b"".join(self._description.token_bytes[token_id] for token_id in token_ids).decode("utf-8", "replace")

    def variants(self, words: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        """Return the tokens of each word, at the start of a text and after a space."""
        texts = [form.encode("utf-8", "replace") for word in words for form in (word, f" {word.lstrip()}")]
        if not texts:
            return ()
        return tuple(dict.fromkeys(tuple(token_ids.tolist()) for token_ids in self._tokenize(texts) if len(token_ids)))

    def _encode(self, pieces: Iterable[Piece]) -> np.ndarray:
        texts = [piece.text.encode("utf-8", "replace") for piece in pieces if not piece.is_special]
        least = sum(map(len, texts)) // self._longest_token
        if least > self._description.context:  # megabytes need not be tokenized to be refused
            raise self._too_long(f"{least} or more")
        tokenized = iter(self._tokenize(texts))
        special = self._description.special_tokens
        ids = [np.array([special[piece.text]]) if piece.is_special else next(tokenized) for piece in pieces]
        return np.concatenate(ids).astype(np.int32)

    def _tokenize(self, texts: list[bytes]) -> list[np.ndarray]:
        outputs = self._model.run(TOKENIZE, {"text": strings(texts)})
        return [row[:length] for row, length in zip(outputs["token_ids"], outputs["lengths"], strict=True)]

    def _validated(self, token_ids: TokenIds[int]) -> np.ndarray:
        size = self._description.vocabulary_size
        for token_id in token_ids:
            if not 0 <= token_id < size:
                raise invalid(f"The prompt has the token {token_id}; expected tokens from 0 to {size - 1}")
        return np.array(token_ids, np.int32)

    def _too_long(self, length: str) -> Failure:
        context = self._description.context
        return invalid(
            f"The prompt has {length} tokens, and the model's context is {context} tokens for prompt and text. "
            "Shorten the prompt"
        )


def is_chat(prompt: Prompt) -> bool:
    """Return whether a prompt is a list of messages."""
    return not isinstance(prompt, str) and bool(prompt) and isinstance(prompt[0], ChatMessage)
