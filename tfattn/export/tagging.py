"""The export of tagging."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.servable_model import Comparison
from tfattn.export.servable_token_model import ServableTokenModel
from tfattn.features import ENDS, LABEL_IDS, LOGITS, STARTS, TEXT, WORD_NUMBERS
from tfattn.ops import entities
from tfattn.preprocessing.word_bounds import align_to_words, substrings
from tfattn.tasks.tagged_entities import Entity
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.read_entities import read_entities


class Tagger(ServableTokenModel):
    """An export that finds entities in texts.

        serving_default   text (B,)
                          -> entities (B, N) string, substrings of the text; labels (B, N) string, their types; start
                          and end (B, N) int32, their first code point and the code point after their last; score (B, N)
                          float32; length (B,) int32, the number of entities, the rest is padded with "" and 0;
                          truncated (B,) bool, whether the text was truncated
        logits            token_ids, padding_mask, segment_ids, each (B, T) int32 -> logits (B, T, C) float32

    The model labels words as split in training, at spaces and punctuation. Entities start and end at word boundaries,
    see `at_word_bounds`. An inside label without a preceding begin label starts an entity. The score of an entity is
    the mean score of its labels.

    Args:
        ensemble: the trained models.
    """

    headline_metrics = ("f1", "precision", "recall")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="tagger")
        self._labels = ensemble.labels

    def text_functions(self) -> dict[str, Any]:
        return {"serving_default": self._find}

    def logits(self, *tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        features = self._inputs.token_features(*tokens)
        return {LOGITS: tf.reduce_mean([run(features)[LOGITS] for run in self._runs], axis=0)}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare entities for equality except for ties of labels, and scores within the tolerance."""
        rows = range(len(expected[WORD_NUMBERS]))
        wanted = read_entities(expected[TEXT], expected, self._labels)
        found = [_received(received, row) for row in rows]
        agree = np.array([_positions(ours) == _positions(theirs) for ours, theirs in zip(wanted, found, strict=True)])
        differences = np.array([_difference(*pair) for pair in zip(wanted, found, strict=True)])
        wrong = np.where(agree, ~(differences <= tolerance), ~_is_close(expected, tolerance))
        largest = float(differences.max())
        return Comparison(
            wrong=wrong,
            report={"entity_agreement": float(agree.mean()), "max_score_difference": largest},
            words=f"entities agree on {agree.sum()} of {len(agree)} rows, "
            f"scores differ by at most {largest:.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"{_positions(wanted[row])} and scores within {tolerance:g}",
            received=lambda row: f"{_positions(found[row])} and a score off by {differences[row]:.3g}",
        )

    def _find(self, *text: tf.Tensor) -> dict[str, tf.Tensor]:
        features, notes = self._inputs.read(text)
        predicted = self._predicted(features, tf.size(text[0]))
        is_word = predicted[WORD_NUMBERS] > 0
        label_ids = align_to_words(text[0], predicted[LABEL_IDS], predicted[STARTS], predicted[ENDS], is_word)
        types, is_first, is_last = entities.bounds(label_ids, is_word)
        starts = tf.ragged.boolean_mask(predicted[STARTS], is_first)
        ends = tf.ragged.boolean_mask(predicted[ENDS], is_last)
        types_of_entities = tf.ragged.boolean_mask(types, is_first)
        labels = tf.gather(tf.constant(self._labels), types_of_entities.values - 1)
        scores = tf.gather(predicted["scores"], label_ids, batch_dims=2)
        numbers = tf.cumsum(tf.reshape(tf.cast(is_first, tf.int32), [-1])) - 1  # of the entity, over all texts
        inside = tf.reshape(types > 0, [-1])
        means = tf.math.unsorted_segment_mean(
            tf.reshape(scores, [-1])[inside], numbers[inside], tf.size(types_of_entities.values)
        )
        return {
            "entities": substrings(text[0], starts, ends).to_tensor(),
            "labels": starts.with_values(labels).to_tensor(),
            "start": starts.to_tensor(),
            "end": ends.to_tensor(),
            "score": starts.with_values(means).to_tensor(),
            "length": tf.cast(starts.row_lengths(), tf.int32),
            **notes,
        }


def _received(received: Mapping[str, Sequence[Any]], row: int) -> list[Entity]:
    names = ("labels", "start", "end", "score")
    entities_of_row = zip(*(received[name][row] for name in names), strict=True)
    return [Entity(*values) for values in entities_of_row][: received["length"][row]]


def _positions(found: Sequence[Entity]) -> list[tuple[str, int, int]]:
    return [entity[:3] for entity in found]


def _difference(wanted: Sequence[Entity], found: Sequence[Entity]) -> float:
    """Return the largest score difference of the common entities."""
    scores = {entity[:3]: entity.score for entity in found}
    return max((abs(scores[entity[:3]] - entity.score) for entity in wanted if entity[:3] in scores), default=0.0)


def _is_close(expected: Mapping[str, np.ndarray], tolerance: float) -> np.ndarray:
    """Return the rows with a word whose top two labels tie within rounding, (N,) bool."""
    best = np.sort(expected["scores"], axis=-1)[..., -2:]
    return ((best[..., 1] - best[..., 0] <= 2 * tolerance) & (expected[WORD_NUMBERS] > 0)).any(axis=1)
