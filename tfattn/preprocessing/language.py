"""The contract of tokenizers of language models: texts to tokens, and tokens back to texts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import TfattnError
from tfattn.features import TEXT, TOKEN_IDS
from tfattn.formats.chat_template import CHATML, ChatTemplate
from tfattn.preprocessing.passages import batch_passages
from tfattn.preprocessing.preprocessor import PRETRAINED, Preprocessor


class Language(Preprocessor):
    """A tokenizer of a language model: it encodes whole texts, and decodes tokens to text.

    Documents are concatenated, with `end_id` after each, and `start_ids` before it. There is no padding token; masks
    mark the padding. A subclass stores its vocabulary in `_known`, the vocabulary that `adopt` was given in `_adopted`,
    and a Detokenizer in `_join`.

    Attributes:
        vocabulary: `pretrained`, or another source of the vocabulary.
        max_length: the maximum length of sequences from `__call__`, such as prompts; `split` has no limit.
        start_token: the special token before every document; None for no token.
        prefix: the text before every document, " " for tokenizers that start all words with a blank.
        prefix_unless: starts of documents without the prefix.
        chat_format: a name of CHAT_FORMATS.
    """

    fields = (TEXT,)
    vocabulary: str
    max_length: int
    start_token: str | None = None
    prefix: str = ""
    prefix_unless: tuple[str, ...] = ()
    chat_format: str | None = CHATML
    _adopted: Any = None
    _known: Any = None
    _join: "Detokenizer"

    @property
    def needs_pretrained(self) -> bool:
        return self.vocabulary == PRETRAINED and self._adopted is None

    @property
    def tokens(self) -> list[str]:
        """The tokens, in the order of their ids, under the names of the vocabulary files."""
        return list(self._fitted.tokens)

    @property
    def token_bytes(self) -> tuple[bytes, ...]:
        """The bytes that each token adds to a text; empty for special tokens."""
        return self._fitted.token_bytes

    @property
    def end_id(self) -> int:
        """The id of the token after a document."""
        raise NotImplementedError

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The ids of the tokens that end a generated text: the end token, and the end of an answer in a chat."""
        template = self.chat_template()
        answer_ends = [] if template is None else [self.special_token_id(template.end)]
        return tuple(dict.fromkeys([self.end_id, *answer_ends]))

    @property
    def start_ids(self) -> tuple[int, ...]:
        """The id of the start token; empty if there is none."""
        return () if self.start_token is None else (self.special_token_id(self.start_token),)

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """The ids of tokens that are never generated: unknown and special tokens, but not the ends."""
        raise NotImplementedError

    def special_token_id(self, special: str) -> int | None:
        """Return the id of a special token, such as <|im_start|>, or None."""
        raise NotImplementedError

    def chat_template(self, system: str | None = None) -> ChatTemplate | None:
        """Return the template of chats; None if the vocabulary lacks its special tokens.

        Args:
            system: the system message of chats without a system message; None for no message.
        """
        if self.chat_format is None:
            return None
        template = ChatTemplate(format=self.chat_format, system=system, start=self.start_token)
        is_complete = all(self.special_token_id(name) is not None for name in template.special_tokens)
        return template if is_complete else None

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of all tokens of texts (B,), UTF-8: ragged (B, (T)) int32."""
        raise NotImplementedError

    def split_documents(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of texts (B,), UTF-8, from the start of a document: ragged (B, (T)) int32."""
        if self.prefix:
            starts = [tf.strings.substr(texts, 0, len(start.encode())) == start for start in self.prefix_unless]
            is_prefixed = tf.strings.length(texts) > 0
            is_prefixed &= ~tf.reduce_any([tf.zeros_like(is_prefixed), *starts], axis=0)
            texts = tf.strings.join([tf.where(is_prefixed, self.prefix, ""), texts])
        return self.with_start(self.split(texts))

    def with_start(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Put the start token before the ids, (B, (T)), of each text."""
        if not self.start_ids:
            return ids
        return tf.concat([tf.fill([ids.nrows(), 1], tf.constant(self.start_ids[0], ids.dtype)), ids], axis=1)

    def encode_documents(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of each text as `split_documents`, for texts of any length; runs eagerly."""
        start = np.array(self.start_ids, np.int32)
        for ids in self.encode(prefixed(text, self.prefix, self.prefix_unless) for text in texts):
            yield np.concatenate([start, ids])

    def encode(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of each text, (T,) int32, for texts of any length; runs eagerly."""
        parts: list[np.ndarray] = []
        current = 0
        for batch in batch_passages(texts):
            ids = self.split(tf.constant(batch.passages))
            for number, part in zip(batch.texts, np.split(ids.values.numpy(), ids.row_splits[1:-1]), strict=True):
                if number > current:
                    yield np.concatenate(parts)
                    parts, current = [], number
                parts.append(part)
        if parts:
            yield np.concatenate(parts)

    def detokenize(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to texts (B,), as bytes that may end within a character.

        Special tokens and ids outside of the vocabulary are dropped.
        """
        _ = self._fitted
        return self._join(token_ids)

    @property
    def _fitted(self) -> Any:
        """The vocabulary."""
        if self._known is None:
            raise TfattnError("the tokenizer has no vocabulary yet", remedy="Call `fit` or `load` first.")
        return self._known

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self.tokens)}

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        """Tokenize texts.

        Args:
            fields: `text` (B,), UTF-8.

        Returns:
            `token_ids`, ragged (B, (T)) int32; of longer texts the last max_length tokens, the first of them replaced
            by the start token if there is one.
        """
        ids = self.split_documents(fields[TEXT])
        if not self.start_ids:
            return {TOKEN_IDS: ids[:, -self.max_length :]}
        return {TOKEN_IDS: self.with_start(ids[:, 1:][:, -(self.max_length - 1) :])}

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        return self.split_documents(fields[TEXT]).row_lengths() > self.max_length


def prefixed(text: str, prefix: str, unless: Sequence[str]) -> str:
    """Put a prefix before a text, unless it is empty or has one of these starts."""
    return text if not text or text.startswith(tuple(unless)) else prefix + text


class Detokenizer(tf.Module):
    """Joins the bytes of tokens to texts, in the graph.

    Args:
        token_bytes: the bytes of each token, in the order of the ids.

    Example:
        >>> Detokenizer([b"a", b" b", b""])([[0, 1, 2, 7]]).numpy()
        array([b'a b'], dtype=object)
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        super().__init__()
        self._size = len(token_bytes)
        self._bytes = tf.constant([*token_bytes, b""])

    def __call__(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to bytes (B,); ids outside of the vocabulary are dropped."""
        strings = tf.ragged.map_flat_values(self._strings, token_ids)
        return tf.strings.reduce_join(strings, axis=1)

    def _strings(self, ids: Any) -> tf.Tensor:
        ids = tf.convert_to_tensor(ids)
        return tf.gather(self._bytes, tf.where((ids >= 0) & (ids < self._size), ids, self._size))
