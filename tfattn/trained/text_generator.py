"""Text generation with trained language models: greedy continuations of prompts and answers in chats."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.decoding.generation import Penalties
from tfattn.decoding.sampling import Sampling
from tfattn.features import ANSWER, MESSAGES, PROMPT, TEXT
from tfattn.formats.chat_template import ASSISTANT, ChatTemplate, Message
from tfattn.preprocessing.chat_ids import piece_ids, rendered_chat_ids
from tfattn.preprocessing.language import Language
from tfattn.rows import evenly_spaced
from tfattn.tasks.generation import sample_continuations
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.shared_decoder import SharedDecoder
from tfattn.training.compiled import compiled

MAX_NEW_TOKENS = 16  # generated tokens of a sample
MAX_WORDS = 12  # words of a sample prompt


class TextGenerator:
    """A trained language model that generates text by greedy decoding.

    Args:
        ensemble: an ensemble of a single model.
        max_new_tokens: the maximum number of generated tokens.

    Attributes:
        language: the tokenizer.
        model: the decoder as graph functions, for decoding loops.
        single_steps: the decoder as graph functions that TensorFlow may inline, for use outside of loops.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, max_new_tokens: int = MAX_NEW_TOKENS):
        (self.language,), (task,) = ensemble.preprocessors, ensemble.tasks
        self._max_new_tokens = max_new_tokens
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
            end_id=self.language.end_id,
            suppressed_ids=self.language.suppressed_ids,
            max_new_tokens=tf.fill([rows], self._max_new_tokens),
            sampling=Sampling.of_rows(rows, seed=0, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0),
            penalties=Penalties(repetition=ones, presence=zeros, frequency=zeros),
        )
        return {"token_ids": generated.token_ids, "lengths": generated.lengths, "scores": generated.scores}


def encode_prompts(language: Language, texts: tf.Tensor, *, parse_chats: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Tokenize prompts.

    Args:
        language: the tokenizer.
        texts: (B,). An empty text becomes the end-of-text token, so that a new document follows.
        parse_chats: whether texts may be formatted chats with special tokens, see `rendered_chat_ids`; otherwise
            special tokens are plain text.

    Returns:
        token ids (B, P) int32, padded at the end, and the padding mask (B, P) bool.
    """
    token_ids = rendered_chat_ids(language, texts) if parse_chats else language.split(texts)
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
    if MESSAGES in row:
        return [Message(message["role"], message["content"]) for message in row[MESSAGES]]
    return [Message("user", row[PROMPT]), Message(ASSISTANT, row[ANSWER])]


def _prompt_text(row: Mapping[str, Any]) -> str:
    if MESSAGES in row:
        return "\n".join(message["content"] for message in row[MESSAGES] if message["role"] != ASSISTANT)
    return row[PROMPT] if PROMPT in row else row[TEXT]


def _first_words(text: str) -> str:
    """Return the first words of a text, or the first characters of a text without spaces."""
    words = text.split()
    return " ".join(words[:MAX_WORDS]) if len(words) > 1 else text.strip()[:MAX_WORDS]
