"""Language models as people ask them: prompts, which they continue."""

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
from tfattn.tasks.generation import sampled
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.shared_decoder import SharedDecoder
from tfattn.training.compiled import compiled

MOST_TOKENS = 16  # of an answer to a question
MOST_WORDS = 12  # of a question


class Continuing:
    """A trained language model that continues texts with the likeliest tokens.

    Args:
        ensemble: the model, one alone.
        most_tokens: how many tokens it writes at most.

    Attributes:
        language: makes tokens of texts.
        model: what it computes, as functions of the graph, for loops over tokens.
        single_steps: the same for what is computed once.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, most_tokens: int = MOST_TOKENS):
        (self.language,), (task,) = ensemble.preprocessors, ensemble.tasks
        self._most_tokens = most_tokens
        self.single_steps = SharedDecoder(task.model, inlined=True)
        self.model = SharedDecoder(self.single_steps)
        self._written = compiled(self._write)

    def predict(self, rows: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
        """Continue N prompts, all at once: `token_ids` (N, L) int32, `lengths` and `scores` (N,)."""
        return self._continued(prompts(self.language, tf.constant([row[TEXT] for row in rows])))

    def texts(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        """Continue N prompts, as texts."""
        return self._joined(self.predict(rows))

    def answers(self, chats: Sequence[Sequence[Message]], template: ChatTemplate) -> list[str]:
        """Write what the assistant says next in N chats."""
        pieces = [template.pieces(chat, is_answered=False) for chat in chats]
        token_ids = tf.ragged.stack([np.concatenate(ids) for ids in piece_ids(self.language, pieces)])
        return self._joined(self._continued(padded(token_ids)))

    def _continued(self, read: tuple[tf.Tensor, tf.Tensor]) -> dict[str, np.ndarray]:
        return {name: np.asarray(values) for name, values in self._written(read).items()}

    def _joined(self, written: Mapping[str, np.ndarray]) -> list[str]:
        found = joined(self.language, written["token_ids"], written["lengths"])
        return [text.decode("utf-8", "replace") for text in found.numpy()]

    def _write(self, read: tuple[Any, Any]) -> dict[str, Any]:
        token_ids, padding_mask = read
        rows = tf.shape(token_ids)[0]
        still = tf.zeros([rows]), tf.ones([rows])
        written = sampled(
            self.model,
            token_ids,
            padding_mask,
            end_id=self.language.end_id,
            suppressed_ids=self.language.suppressed_ids,
            max_new_tokens=tf.fill([rows], self._most_tokens),
            sampling=Sampling.of_rows(rows, seed=0, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0),
            penalties=Penalties(repetition=still[1], presence=still[0], frequency=still[0]),
        )
        return {"token_ids": written.token_ids, "lengths": written.lengths, "scores": written.scores}


def prompts(language: Language, texts: tf.Tensor, *, written_chats: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Turn texts (B,) into prompts: token ids (B, P) int32, padded at their ends, and which are real (B, P) bool.

    A prompt has one token at least: an empty text is continued as a document begins, behind the end of another. Special
    tokens are text, except where the texts may be chats that are written out, see `rendered_chat_ids`.
    """
    token_ids = rendered_chat_ids(language, texts) if written_chats else language.split(texts)
    is_empty = token_ids.row_lengths() == 0
    begin = tf.RaggedTensor.from_row_lengths(
        tf.fill([tf.math.count_nonzero(is_empty)], language.end_id), tf.cast(is_empty, tf.int64), validate=False
    )
    return padded(tf.concat([begin, token_ids], axis=1))


def padded(token_ids: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Fill token ids up at their ends: (B, P) int32, and which are real (B, P) bool."""
    dense = token_ids.to_tensor()
    return dense, tf.sequence_mask(token_ids.row_lengths(), tf.shape(dense)[1])


def joined(language: Language, token_ids: Any, lengths: Any) -> tf.Tensor:
    """Join the first tokens of each row (..., L), of which `lengths` (...) says how many there are, to bytes (...)."""
    token_ids = tf.where(tf.range(tf.shape(token_ids)[-1]) < lengths[..., None], token_ids, -1)
    flat = tf.reshape(token_ids, [tf.size(lengths), tf.shape(token_ids)[-1]])
    return tf.reshape(language.detokenize(flat), tf.shape(lengths))


def questions(rows: Sequence[Mapping[str, str]], *, most: int) -> list[dict[str, str]]:
    """Take the first words, or characters, of some lines of some rows, evenly; of chats of what is asked; as rows."""
    lines = [
        {TEXT: _beginning(line), "row": row.get("row", "")}
        for row in _evenly(rows, most)
        for line in _evenly(_asked(row).splitlines(), most)
    ]
    return _evenly([line for line in lines if line[TEXT]], most) or [{TEXT: "", "row": ""}]


def answered(rows: Sequence[Mapping[str, Any]], *, most: int) -> list[tuple[str, list[Message], str]]:
    """Take the last answer of some chats, evenly: the name of the row, what was said before, and the answer."""
    found = []
    for row in rows:
        said = [Message(one["role"], one["content"]) for one in row[MESSAGES]] if MESSAGES in row else _pair(row)
        places = [place for place, message in enumerate(said) if message.role == ASSISTANT]
        if places:
            found.append((row.get("row", ""), said[: places[-1]], said[places[-1]].content))
    return _evenly(found, most)


def _pair(row: Mapping[str, str]) -> list[Message]:
    return [Message("user", row[PROMPT]), Message(ASSISTANT, row[ANSWER])]


def _asked(row: Mapping[str, Any]) -> str:
    if MESSAGES in row:
        return "\n".join(message["content"] for message in row[MESSAGES] if message["role"] != ASSISTANT)
    return row[PROMPT] if PROMPT in row else row[TEXT]


def _evenly(values: Sequence[Any], most: int) -> list[Any]:
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).astype(int))
    return [values[place] for place in places]


def _beginning(text: str) -> str:
    words = text.split()
    return " ".join(words[:MOST_WORDS]) if len(words) > 1 else text.strip()[:MOST_WORDS]
