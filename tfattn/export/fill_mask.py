"""What an exported masked language model can be asked: which tokens [MASK] may stand for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.attention import with_segments
from tfattn.export.lengths import one_of_each_length
from tfattn.export.served import Columns, Comparison, Served
from tfattn.features import MASKED_LM_POSITIONS, PADDING_MASK, SEGMENT_IDS, TEXT, TOKEN_IDS
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.preprocessing.vocabulary import CONTINUES, MASK
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.masked_questions import sample_questions, with_mask_tokens

ALL_MASKS = "all_masks"
MOST_QUESTIONS = 100  # of each kind


class FillMask(Served):
    """Tells the K likeliest tokens for [MASK] in each text, each [MASK] by itself.

        serving_default   text (B,)
                          -> of the first [MASK] of each text, best first: token (B, K) int32, its id; token_str (B, K)
                          string; score (B, K) float32, its probability; sequence (B, K) string, the text with it; and
                          masks (B,) int32, how many [MASK] were read; truncated (B,) bool, whether the text was too
                          long and its end was not read
        all_masks         text (B,)
                          -> the same of each of M [MASK], (B, M, K); of texts with fewer of them the last are "", 0

    A text in which no [MASK] is read is refused. A token that continues a word ("##s") joins the word before it.

    Args:
        ensemble: the trained model, one alone.

    Attributes:
        ensemble: the same, reading [MASK] in texts.

    Raises:
        ExportError: the task computes in another type than float32.
    """

    shown_metrics = ("masked_lm_accuracy", "baseline_masked_lm_accuracy", "next_sentence_accuracy")

    def __init__(self, ensemble: TrainedEnsemble):
        reading = with_mask_tokens(ensemble)
        super().__init__(reading, name="fill_mask")
        self._of_ensemble = lambda: reading  # not as an attribute: see Served
        (self._text,) = reading.preprocessors
        self._labels = source_token_labels(self._text)

    @property
    def ensemble(self) -> TrainedEnsemble:
        return self._of_ensemble()

    @property
    def raw_fields(self) -> dict[str, str]:
        return {TEXT: self._text.fields[0]}

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Hide one word or two of a sentence of some rows, taken evenly."""
        (field,) = self.raw_fields.values()
        chosen = [
            one for masks in (1, 2) for one in sample_questions(self.ensemble, rows, limit=MOST_QUESTIONS, masks=masks)
        ]
        return [{field: one.text, "row": one.row} for one in chosen]

    def signatures(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        functions = {"serving_default": self._first, ALL_MASKS: self._all}
        of_texts = {
            name: tf.function(function, input_signature=text, autograph=False) for name, function in functions.items()
        }
        return {**of_texts, **self.views()}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {TEXT: [row[self.raw_fields[TEXT]] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield a text of every length there may be, each alone and all together; then the other signature."""
        (texts,) = one_of_each_length(self._lengths, self.request(rows)).values()
        texts = [f"{MASK} {text}" for text in texts]
        for text in texts:
            yield "serving_default", {TEXT: [text]}
        for signature in ("serving_default", ALL_MASKS):
            yield signature, {TEXT: texts}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Scores are to be about the same, and tokens the same, but those that are about as likely as a neighbour."""
        wanted, scores = (np.asarray(expected[name])[:, 0] for name in ("token_ids", "scores"))
        tokens = np.asarray(received["token"])
        differences = np.abs(np.asarray(received["score"], np.float64) - scores).max(axis=1)
        agree = (tokens == wanted).all(axis=1)
        # To the one before and the one behind; behind the last stands one that is not told.
        gaps = np.pad(-np.diff(scores, axis=1), [(0, 0), (1, 0)], constant_values=np.inf)
        nearest = np.minimum(gaps, np.pad(gaps[:, 1:], [(0, 0), (0, 1)]))
        is_other = (tokens != wanted) & (nearest > 2 * tolerance)
        return Comparison(
            wrong=~(differences <= tolerance) | is_other.any(axis=1),  # so written, NaN is wrong too
            report={"token_agreement": float(agree.mean()), "max_score_difference": float(differences.max())},
            words=f"tokens agree on {agree.sum()} of {len(agree)} texts, "
            f"scores differ by at most {differences.max():.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"the tokens {wanted[row].tolist()} and scores within {tolerance:g}",
            received=lambda row: f"{tokens[row].tolist()} and a score off by {differences[row]:.3g}",
        )

    def views(self) -> dict[str, Any]:
        text = [tf.TensorSpec([None], tf.string, name=TEXT)]
        return self._attention(inputs=text, read=self._read, labels=self._labelled)

    def _read(self, text: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        fields = {self.raw_fields[TEXT]: text}
        features = padded(self._text(fields))
        del features[MASKED_LM_POSITIONS]
        return features, {"truncated": self._text.truncated(fields)}

    def _labelled(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        real = features[PADDING_MASK]
        return with_segments(self._labels(features[TOKEN_IDS], real), features[SEGMENT_IDS], real)

    def _first(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = self._all(text)
        alone = ("masks", "truncated")
        # Sliced before it is reshaped, because no text has no first [MASK].
        shape = tf.shape(outputs["score"])[::2]
        return {name: value if name in alone else tf.reshape(value[:, :1], shape) for name, value in outputs.items()}

    def _all(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        fields = {self.raw_fields[TEXT]: text}
        features = self._text(fields)
        masks = tf.cast(features[MASKED_LM_POSITIONS].row_lengths(), tf.int32)
        with tf.control_dependencies([self._has_masks(masks)]):
            masks = tf.identity(masks)
        predicted = self._predicted([padded(features)], tf.size(text))
        is_read = tf.sequence_mask(masks)[:, :, None]  # (B, M, 1)
        token_ids = tf.where(is_read, predicted["token_ids"], 0)
        tokens = tf.gather(tf.constant(self._text.tokens), token_ids)
        return {
            "token": token_ids,
            "token_str": tf.where(is_read, tokens, ""),
            "score": tf.where(is_read, predicted["scores"], 0.0),
            "sequence": tf.where(is_read, _filled(text, tokens, is_read[:, :, 0]), ""),
            "masks": masks,
            "truncated": self._text.truncated(fields),
        }

    def _has_masks(self, masks: tf.Tensor) -> tf.Operation:
        row = tf.strings.reduce_join(tf.strings.as_string(tf.where(masks == 0)[:1, 0] + 1))
        limit = f" among its first {self._text.max_length - 2} tokens"
        said = tf.strings.join(["the text in row ", row, f" has no {MASK}{limit}"])
        return tf.debugging.Assert(tf.reduce_all(masks > 0), [said])

    def _lengths(self, fields: Columns) -> np.ndarray:
        features = padded(self._text({self.raw_fields[TEXT]: tf.constant([f"{MASK} {x}" for x in fields[TEXT]])}))
        return np.sum(features[PADDING_MASK], axis=1)


def _filled(texts: tf.Tensor, tokens: tf.Tensor, is_read: tf.Tensor) -> tf.Tensor:
    """Put tokens in the place of each [MASK] of their text.

    Args:
        texts: (B,).
        tokens: (B, M, K), for each of the first M masks.
        is_read: (B, M) bool, which of these there are.

    Returns:
        (B, M, K), the texts with that mask filled and the others as they stood.
    """
    parts = tf.strings.split(texts, MASK)
    ends = tf.cumsum(tf.strings.length(parts.values) + len(MASK))  # of all texts, one after the other
    begins = tf.gather(tf.pad(ends, [[1, 0]]), parts.row_starts())
    starts = parts.with_values(ends - len(MASK)).to_tensor()[:, : tf.shape(is_read)[1]] - begins[:, None]
    starts = tf.where(is_read, starts, 0)
    whole = tf.broadcast_to(texts[:, None], tf.shape(starts))
    before = tf.strings.substr(whole, tf.zeros_like(starts), starts)
    length = tf.strings.length(whole)
    behind = tf.minimum(starts + len(MASK), length)
    after = tf.strings.substr(whole, behind, length - behind)
    continues = tf.strings.regex_full_match(tokens, f"{CONTINUES}.*")
    joined = tf.where(continues, tf.strings.regex_replace(before, r"\s+$", "")[:, :, None], before[:, :, None])
    words = tf.strings.regex_replace(tokens, f"^{CONTINUES}", "")
    return tf.strings.join([joined, words, tf.broadcast_to(after[:, :, None], tf.shape(words))])
