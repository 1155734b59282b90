"""Text generation with trained language models: greedy continuations of prompts and answers in chats."""

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
import tensorflow as tf
from keras import tree

from tfattn.decoding.cache import Cache
from tfattn.decoding.generation import Penalties
from tfattn.decoding.sampling import Sampling
from tfattn.features import TEXT
from tfattn.formats.chat_rows import chat_of
from tfattn.formats.chat_template import ASSISTANT, ChatTemplate, Message
from tfattn.models.contracts.decoder import Decoder
from tfattn.preprocessing.chat_ids import piece_ids, rendered_chat_ids
from tfattn.preprocessing.language import Language
from tfattn.rows import evenly_spaced
from tfattn.tasks.generation import sample_continuations
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.training.compiled import compiled


class SharedDecoder:
    """A decoder whose methods are graph functions, traced once for all callers.

    Decoding loops are traced several times for each signature. If each trace contained the layers of a deep model, an
    export would take minutes to write and to load.

    Args:
        model: the decoder, or another SharedDecoder.
        inlined: whether TensorFlow may inline the functions. Outside of loops, a step is an eighth faster with
            inlining; the body of a loop is optimized again for each loop.

    Attributes:
        vocabulary_size, max_sequence_length: of the decoder.
    """

    def __init__(self, model: Union[Decoder, "SharedDecoder"], *, inlined: bool = False):
        self.vocabulary_size, self.max_sequence_length = model.vocabulary_size, model.max_sequence_length
        self.empty_cache = model.empty_cache
        cache = tree.map_structure(_of_any_size, model.empty_cache(1))
        ids, mask = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.bool)
        self._read = _function(model.read, [ids, cache, mask], inlined)
        self._step = _function(model.step, [tf.TensorSpec([None], tf.int32), cache], inlined)
        width = self._read.get_concrete_function().structured_outputs[0]
        vectors = tf.TensorSpec([None, None, width.shape[-1]], width.dtype)
        self._next_logits = _function(model.next_logits, [vectors], inlined)

    def read(self, token_ids: Any, cache: Cache, padding_mask: Any) -> tuple[Any, Cache]:
        """Read tokens, see `Decoder.read`."""
        x, cache = self._read(token_ids, cache, padding_mask)
        return x, Cache(*cache)

    def step(self, token_ids: Any, cache: Cache) -> tuple[Any, Cache]:
        """Take a decoding step, see `Decoder.step`."""
        logits, cache = self._step(token_ids, cache)
        return logits, Cache(*cache)

    def next_logits(self, x: Any) -> Any:
        """Compute the logits of next tokens from vectors (B, T, D), see `Decoder.next_logits`."""
        return self._next_logits(x)


def _of_any_size(x: Any) -> tf.TensorSpec:
    """Return the spec of a cache tensor with any number of rows and positions."""
    return tf.TensorSpec(
        [None if axis in (0, 2) or len(x.shape) == 2 else size for axis, size in enumerate(x.shape)], x.dtype
    )


def _function(function: Any, specs: list[Any], inlined: bool) -> Any:
    attributes = {} if inlined else {"_noinline": True}
    return tf.function(function, input_signature=specs, autograph=False, experimental_attributes=attributes)


SAMPLE_TOKENS = 16  # generated tokens of a sample
MAX_WORDS = 12  # words of a sample prompt


class TextGenerator:
    """A trained language model that generates text by greedy decoding.

    Args:
        ensemble: an ensemble of a single model.
        max_tokens: the maximum number of generated tokens.

    Attributes:
        language: the tokenizer.
        model: the decoder as graph functions, for decoding loops.
        single_steps: the decoder as graph functions that TensorFlow may inline, for use outside of loops.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, max_tokens: int = SAMPLE_TOKENS):
        (self.language,), (task,) = ensemble.preprocessors, ensemble.tasks
        self._max_tokens = max_tokens
        self.single_steps = SharedDecoder(task.model, inlined=True)
        self.model = SharedDecoder(self.single_steps)
        self._compiled = compiled(self._generate)

    def predict(self, rows: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
        """Continue N prompts in one batch; return `token_ids` (N, L) int32, `lengths` and `scores` (N,)."""
        return self._run(encode_prompts(self.language, tf.constant([row[TEXT] for row in rows])))

    def texts(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        """Continue N prompts; return texts."""
        return self._decode(self.predict(rows))

    def answers(self, chats: Sequence[Sequence[Message]], template: ChatTemplate) -> list[str]:
        """Generate the next message of the assistant in N chats."""
        pieces = [template.pieces(chat, is_answered=False) for chat in chats]
        token_ids = tf.ragged.stack([np.concatenate(ids) for ids in piece_ids(self.language, pieces)])
        return self._decode(self._run(pad(token_ids)))

    def _run(self, prompts: tuple[tf.Tensor, tf.Tensor]) -> dict[str, np.ndarray]:
        return {name: np.asarray(values) for name, values in self._compiled(prompts).items()}

    def _decode(self, generated: Mapping[str, np.ndarray]) -> list[str]:
        texts = decode_tokens(self.language, generated["token_ids"], generated["lengths"])
        return [text.decode("utf-8", "replace") for text in texts.numpy()]

    def _generate(self, prompts: tuple[Any, Any]) -> dict[str, Any]:
        token_ids, padding_mask = prompts
        rows = tf.shape(token_ids)[0]
        zeros, ones = tf.zeros([rows]), tf.ones([rows])
        generated = sample_continuations(
            self.model,
            token_ids,
            padding_mask,
            end_ids=self.language.end_ids,
            suppressed_ids=self.language.suppressed_ids,
            max_tokens=tf.fill([rows], self._max_tokens),
            sampling=Sampling.of_rows(rows, seed=0, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0),
            penalties=Penalties(repetition=ones, presence=zeros, frequency=zeros),
        )
        return {"token_ids": generated.token_ids, "lengths": generated.lengths, "scores": generated.scores}


def encode_prompts(language: Language, texts: tf.Tensor, *, parse_chats: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Tokenize prompts.

    Args:
        language: the tokenizer.
        texts: (B,). An empty text becomes the start token, or else the end-of-text token, so that a new document
            follows.
        parse_chats: whether texts may be formatted chats with special tokens, see `rendered_chat_ids`; otherwise
            special tokens are plain text.

    Returns:
        token ids (B, P) int32, padded at the end, and the padding mask (B, P) bool.
    """
    token_ids = rendered_chat_ids(language, texts) if parse_chats else language.split_documents(texts)
    is_empty = token_ids.row_lengths() == 0
    start = tf.RaggedTensor.from_row_lengths(
        tf.fill([tf.math.count_nonzero(is_empty)], language.end_id), tf.cast(is_empty, tf.int64), validate=False
    )
    return pad(tf.concat([start, token_ids], axis=1))


def pad(token_ids: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pad token ids at the end; return them (B, P) int32 and the padding mask (B, P) bool."""
    dense = token_ids.to_tensor()
    return dense, tf.sequence_mask(token_ids.row_lengths(), tf.shape(dense)[1])


def decode_tokens(language: Language, token_ids: Any, lengths: Any) -> tf.Tensor:
    """Decode token ids (..., L) to texts (...) of bytes; `lengths` (...) is the number of tokens of each row."""
    token_ids = tf.where(tf.range(tf.shape(token_ids)[-1]) < lengths[..., None], token_ids, -1)
    flat = tf.reshape(token_ids, [tf.size(lengths), tf.shape(token_ids)[-1]])
    return tf.reshape(language.detokenize(flat), tf.shape(lengths))


def sample_prompts(rows: Sequence[Mapping[str, str]], *, limit: int) -> list[dict[str, str]]:
    """Return rows with sample prompts: the first words of evenly spaced lines, in chats of the user's messages."""
    lines = [
        {TEXT: _first_words(line), "row": row.get("row", "")}
        for row in evenly_spaced(rows, limit)
        for line in evenly_spaced(_prompt_text(row).splitlines(), limit)
    ]
    return evenly_spaced([line for line in lines if line[TEXT]], limit) or [{TEXT: "", "row": ""}]


def row_text(row: Mapping[str, Any]) -> str:
    """Return the text of a row; of a chat, all messages."""
    return row[TEXT] if TEXT in row else "\n".join(message.content for message in _messages(row))


def sample_answers(rows: Sequence[Mapping[str, Any]], *, limit: int) -> list[tuple[str, list[Message], str]]:
    """Return the last answers of evenly spaced chats: the row's name, the messages before the answer, the answer."""
    found = []
    for row in rows:
        messages = _messages(row)
        answers = [index for index, message in enumerate(messages) if message.role == ASSISTANT]
        if answers:
            found.append((row.get("row", ""), messages[: answers[-1]], messages[answers[-1]].content))
    return evenly_spaced(found, limit)


def _messages(row: Mapping[str, Any]) -> list[Message]:
    return chat_of(row, where=row.get("row", ""))


def _prompt_text(row: Mapping[str, Any]) -> str:
    if TEXT in row:
        return row[TEXT]
    return "\n".join(message.content for message in _messages(row) if message.role != ASSISTANT)


def _first_words(text: str) -> str:
    """Return the first words of a text, or the first characters of a text without spaces."""
    words = text.split()
    return " ".join(words[:MAX_WORDS]) if len(words) > 1 else text.strip()[:MAX_WORDS]
