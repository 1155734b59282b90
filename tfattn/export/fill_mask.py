"""The export of masked language models: predictions for [MASK]."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.attention import add_segments
from tfattn.export.servable_model import Columns, Comparison, ServableModel
from tfattn.export.warmup import sample_each_length
from tfattn.features import MASKED_LM_POSITIONS, PADDING_MASK, SEGMENT_IDS, TEXT, TOKEN_IDS
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.preprocessing.vocabulary import MASK
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.masked_questions import sample_questions, with_mask_tokens

ALL_MASKS = "all_masks"
MAX_QUESTIONS = 100  # per number of masks


class FillMask(ServableModel):
    """An export that returns the top K tokens for each [MASK], predicted independently.

        serving_default   text (B,)
                          -> predictions for the first [MASK] of each text, best first: token (B, K) int32, the id;
                          token_str (B, K) string; score (B, K) float32, the probability; sequence (B, K) string, the
                          filled text; and masks (B,) int32, the number of [MASK] tokens; truncated (B,) bool, whether
                          the text was truncated
        all_masks         text (B,)
                          -> the same for each of M [MASK] tokens, (B, M, K), padded with "" and 0

    A text without [MASK] is an error. [MASK] means the mask token of any vocabulary, such as <mask>. A token that
    continues a word ("##s") is joined to the preceding word.

    Args:
        ensemble: a single trained model.

    Attributes:
        ensemble: the model with a preprocessor that reads [MASK] in texts.

    Raises:
        ExportError: the task does not compute in float32.
    """

    headline_metrics = ("masked_lm_accuracy", "baseline_masked_lm_accuracy", "next_sentence_accuracy")

    def __init__(self, ensemble: TrainedEnsemble):
        mask_reader = with_mask_tokens(ensemble)
        super().__init__(mask_reader, name="fill_mask")
        self._get_ensemble = lambda: mask_reader  # models must not be attributes: see ServableModel
        (self._text,) = mask_reader.preprocessors
        self._labels = source_token_labels(self._text)

    @property
    def ensemble(self) -> TrainedEnsemble:
        return self._get_ensemble()

    @property
    def raw_fields(self) -> dict[str, str]:
        return {TEXT: self._text.fields[0]}

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Return sentences of some evenly spaced rows, with one or two words masked."""
        (field,) = self.raw_fields.values()
        chosen = [
            question
            for masks in (1, 2)
            for question in sample_questions(self.ensemble, rows, limit=MAX_QUESTIONS, masks=masks)
        ]
        return [{field: question.text, "row": question.row} for question in chosen]

    def signatures(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        functions = {"serving_default": self._first_mask, ALL_MASKS: self._all_masks}
        signatures = {
            name: tf.function(function, input_signature=text, autograph=False) for name, function in functions.items()
        }
        return {**signatures, **self.attention_signatures()}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {TEXT: [row[self.raw_fields[TEXT]] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield texts of all lengths, alone and together, then a request for all_masks."""
        (texts,) = sample_each_length(self._lengths, self.request(rows)).values()
        texts = [f"{MASK} {text}" for text in texts]
        for text in texts:
            yield "serving_default", {TEXT: [text]}
        for signature in ("serving_default", ALL_MASKS):
            yield signature, {TEXT: texts}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare scores within the tolerance, and tokens for equality except for ties with a neighboring rank."""
        wanted, scores = (np.asarray(expected[name])[:, 0] for name in ("token_ids", "scores"))
        tokens = np.asarray(received["token"])
        differences = np.abs(np.asarray(received["score"], np.float64) - scores).max(axis=1)
        agree = (tokens == wanted).all(axis=1)
        # Gaps to the previous and the next rank; the rank after the last is unknown.
        gaps = np.pad(-np.diff(scores, axis=1), [(0, 0), (1, 0)], constant_values=np.inf)
        nearest = np.minimum(gaps, np.pad(gaps[:, 1:], [(0, 0), (0, 1)]))
        is_other = (tokens != wanted) & (nearest > 2 * tolerance)
        return Comparison(
            wrong=~(differences <= tolerance) | is_other.any(axis=1),  # NaN counts as wrong
            report={"token_agreement": float(agree.mean()), "max_score_difference": float(differences.max())},
            words=f"tokens agree on {agree.sum()} of {len(agree)} texts, "
            f"scores differ by at most {differences.max():.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"the tokens {wanted[row].tolist()} and scores within {tolerance:g}",
            received=lambda row: f"{tokens[row].tolist()} and a score off by {differences[row]:.3g}",
        )

    def attention_signatures(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        return self._attention(inputs=text, read=self._read, labels=self._label_tokens)

    def _read(self, text: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        fields = {self.raw_fields[TEXT]: text}
        features = padded(self._text(fields))
        del features[MASKED_LM_POSITIONS]
        return features, {"truncated": self._text.truncated(fields)}

    def _label_tokens(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        real = features[PADDING_MASK]
        return add_segments(self._labels(features[TOKEN_IDS], real), features[SEGMENT_IDS], real)

    def _first_mask(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = self._all_masks(text)
        per_text = ("masks", "truncated")
        # Slice before reshaping, which also works for a request without texts.
        shape = tf.shape(outputs["score"])[::2]
        return {name: value if name in per_text else tf.reshape(value[:, :1], shape) for name, value in outputs.items()}

    def _all_masks(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        fields = {self.raw_fields[TEXT]: text}
        features = self._text(fields)
        masks = tf.cast(features[MASKED_LM_POSITIONS].row_lengths(), tf.int32)
        with tf.control_dependencies([self._has_masks(masks)]):
            masks = tf.identity(masks)
        predicted = self._predicted([padded(features)], tf.size(text))
        is_read = tf.sequence_mask(masks)[:, :, None]  # (B, M, 1)
        token_ids = tf.where(is_read, predicted["token_ids"], 0)
        pieces = self._text.pieces
        names, words, continues = (
            tf.gather(tf.constant(list(side)), token_ids)
            for side in (pieces.token_names, pieces.token_texts, pieces.continues)
        )
        return {
            "token": token_ids,
            "token_str": tf.where(is_read, names, ""),
            "score": tf.where(is_read, predicted["scores"], 0.0),
            "sequence": tf.where(is_read, _filled(text, words, continues, is_read[:, :, 0]), ""),
            "masks": masks,
            "truncated": self._text.truncated(fields),
        }

    def _has_masks(self, masks: tf.Tensor) -> tf.Operation:
        row = tf.strings.reduce_join(tf.strings.as_string(tf.where(masks == 0)[:1, 0] + 1))
        limit = f" among its first {self._text.max_length - 2} tokens"
        message = tf.strings.join(["the text in row ", row, f" has no {MASK}{limit}"])
        return tf.debugging.Assert(tf.reduce_all(masks > 0), [message])

    def _lengths(self, fields: Columns) -> np.ndarray:
        features = padded(self._text({self.raw_fields[TEXT]: tf.constant([f"{MASK} {x}" for x in fields[TEXT]])}))
        return np.sum(features[PADDING_MASK], axis=1)


def _filled(texts: tf.Tensor, words: tf.Tensor, continues: tf.Tensor, is_read: tf.Tensor) -> tf.Tensor:
    """Replace each [MASK] of a text by tokens.

    Args:
        texts: (B,).
        words: (B, M, K), the texts of tokens for the first M masks.
        continues: (B, M, K) bool, whether a token continues the word before it.
        is_read: (B, M) bool, which masks exist.

    Returns:
        (B, M, K), texts with one mask filled and the others unchanged.
    """
    parts = tf.strings.split(texts, MASK)
    ends = tf.cumsum(tf.strings.length(parts.values) + len(MASK))  # positions in the concatenation of all texts
    text_starts = tf.gather(tf.pad(ends, [[1, 0]]), parts.row_starts())
    starts = parts.with_values(ends - len(MASK)).to_tensor()[:, : tf.shape(is_read)[1]] - text_starts[:, None]
    starts = tf.where(is_read, starts, 0)
    whole = tf.broadcast_to(texts[:, None], tf.shape(starts))
    before = tf.strings.substr(whole, tf.zeros_like(starts), starts)
    length = tf.strings.length(whole)
    ends_of_mask = tf.minimum(starts + len(MASK), length)
    after = tf.strings.substr(whole, ends_of_mask, length - ends_of_mask)
    # A token that continues a word, or has a blank in front, replaces the white space before the mask.
    closes = continues | tf.strings.regex_full_match(words, r"\s[\s\S]*")
    joined = tf.where(closes, tf.strings.regex_replace(before, r"\s+$", "")[:, :, None], before[:, :, None])
    words = tf.where(tf.strings.length(joined) == 0, tf.strings.regex_replace(words, r"^\s+", ""), words)
    return tf.strings.join([joined, words, tf.broadcast_to(after[:, :, None], tf.shape(words))])
