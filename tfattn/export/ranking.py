"""The export of ranking: scores of documents for a query."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.number_outputs import REGRESS
from tfattn.export.servable_model import Columns, Comparison
from tfattn.export.servable_row_model import Outputs, ServableRowModel, example
from tfattn.export.text_inputs import TextInputs, count_tokens
from tfattn.features import DOCUMENT, DOCUMENTS, NUM_TOKENS, QUERY, SCORE
from tfattn.rows import widened
from tfattn.trained.ensemble import TrainedEnsemble

METRICS = ("ndcg_at_10", "mrr_at_10", "recall_at_10")


class RankingOutputs(Outputs):
    """The score of each document, the mean over the models: scores (B, N) float32, 0 for padding."""

    method, signature = REGRESS, "regress"
    headline_metrics = (METRICS[0], f"baseline_{METRICS[0]}", *METRICS[1:])

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"scores": tf.cast(predictions["scores"], tf.float32)}

    def example_outputs(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"outputs": outputs[SCORE]}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare the scores within the tolerance."""
        wanted, scores = (np.asarray(outputs["scores"], np.float64) for outputs in (expected, received))
        width = max(wanted.shape[1], scores.shape[1])
        wanted, scores = (widened(values, [width]) for values in (wanted, scores))
        differences = np.abs(wanted - scores).max(axis=1)
        return Comparison(
            wrong=~(differences <= tolerance),  # NaN counts as wrong
            report={"max_difference": float(differences.max())},
            words=f"scores differ by at most {differences.max():.2g} (allowed: {tolerance:.2g})",
            expected=lambda row: f"scores {np.round(wanted[row], 6).tolist()}",
            received=lambda row: f"scores {np.round(scores[row], 6).tolist()}",
        )


class Ranker(ServableRowModel):
    """An export that scores documents for a query; see TextInputs and RankingOutputs.

        serving_default   query (B,), documents (B, N) string -> scores (B, N), truncated (B,) bool. Empty documents are
                          padding, with a score of 0
        score             query (B,), document (B,) string -> score (B,) float32; num_tokens (B,) int32; truncated (B,)
        regress           inputs (B,), serialized tf.Examples with query and document -> outputs (B,) float32
        features, tokens  see TextInputs

    Args:
        ensemble: the trained models.
    """

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, TextInputs(ensemble, lists=[DOCUMENTS]), RankingOutputs(), name="ranker")

    def signatures(self) -> dict[str, Any]:
        pair = [tf.TensorSpec([None], tf.string, name=name) for name in (QUERY, DOCUMENT)]
        score = tf.function(self._score, input_signature=pair, autograph=False)

        def from_examples(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            features = {name: tf.io.FixedLenFeature([], tf.string) for name in (QUERY, DOCUMENT)}
            parsed = tf.io.parse_example(inputs, features)
            return self.output_side.example_outputs(score(parsed[QUERY], parsed[DOCUMENT]))

        examples = [tf.TensorSpec([None], tf.string, name="inputs")]
        regress = tf.function(from_examples, input_signature=examples, autograph=False)
        return {**super().signatures(), self.output_side.signature: regress, SCORE: score}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield batches for serving_default, then pairs for `score`, and one request per other signature."""
        batches = self.input_side.warm_up(rows)
        for columns in batches:
            yield "serving_default", columns
        yield from self.input_side.warm_up_signatures(batches[-1])
        for columns in batches:
            pairs = {QUERY: columns[QUERY], DOCUMENT: [documents[0] for documents in columns[DOCUMENTS]]}
            yield SCORE, pairs
        examples = [
            example({QUERY: query, DOCUMENT: document}) for query, document in zip(*pairs.values(), strict=True)
        ]
        yield self.output_side.signature, {"inputs": examples}

    def _score(self, query: tf.Tensor, document: tf.Tensor) -> dict[str, tf.Tensor]:
        features, notes = self.input_side.read([query, document[:, None]])
        scores = tf.reduce_sum(self.predict(features, tf.size(query))["scores"], axis=1)  # of one document, or no rows
        return {SCORE: scores, NUM_TOKENS: count_tokens(features[0], tf.size(query)), **notes}
