"""The export of text embeddings: a text to its vector."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.servable_model import Columns, Comparison
from tfattn.export.servable_row_model import Outputs, ServableRowModel
from tfattn.export.text_inputs import TextInputs, count_tokens
from tfattn.features import EMBEDDING, NUM_TOKENS
from tfattn.tasks.embedding import CORRELATIONS
from tfattn.tasks.retrieval_metrics import RETRIEVAL_METRICS
from tfattn.trained.ensemble import TrainedEnsemble


class GroupedTexts(TextInputs):
    """Texts (B,), of raw rows with several texts: request i has text i of the row, counted modulo N.

    Args:
        ensemble: a single trained model of an Embedding.
    """

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble)
        self._columns, self._prompts = ensemble.task.columns, ensemble.task.prompts

    def request(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        (name,) = self.names
        roles = [self._columns[index % len(self._columns)] for index in range(len(rows))]
        return {name: [self._prompts.get(role, "") + row[role] for role, row in zip(roles, rows, strict=True)]}


class VectorOutputs(Outputs):
    """The vector of each text: embedding (B, D) float32.

    Args:
        ensemble: a single trained model of an Embedding.
    """

    method, signature = tf.saved_model.PREDICT_METHOD_NAME, "embed"
    headline_metrics = (*reversed(CORRELATIONS), *RETRIEVAL_METRICS)

    def __init__(self, ensemble: TrainedEnsemble):
        task = ensemble.task
        self._description = {
            "task": "embedding",
            "dimensions": task.dimensions[0],
            "matryoshka_dimensions": list(task.dimensions),
            "normalized": task.normalize,
            "prompts": {role: task.prompts.get(role, "") for role in task.columns},
        }

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {EMBEDDING: tf.cast(predictions[EMBEDDING], tf.float32)}

    def metadata(self) -> dict[str, Any]:
        return {**super().metadata(), **self._description}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare vectors within the tolerance, relative to the largest number of vectors that are not normalized."""
        texts = np.asarray(expected[EMBEDDING], np.float64)
        numbers = np.arange(len(texts))
        wanted = texts[numbers, numbers % texts.shape[1]]
        differences = np.abs(np.asarray(received[EMBEDDING], np.float64) - wanted).max(axis=1)
        allowed = tolerance * max(1.0, float(np.abs(wanted).max()))
        is_right = differences <= allowed  # NaN counts as wrong
        largest = float(differences.max())
        return Comparison(
            wrong=~is_right,
            report={"max_difference": largest},
            words=f"the vectors of {is_right.sum()} of {len(is_right)} texts agree, "
            f"they differ by at most {largest:.2g} (allowed: {allowed:.2g})",
            expected=lambda row: f"its vector within {allowed:.2g}",
            received=lambda row: f"a vector off by {differences[row]:.3g}",
        )


class Embedder(ServableRowModel):
    """An export that returns the vector of a text; see TextInputs for `features` and `tokens`.

        serving_default   text (B,) string -> embedding (B, D) float32, num_tokens (B,) int32, truncated (B,) bool

    A text is read as it is: callers add the prompt of a query or a document, which the card lists.

    Args:
        ensemble: a single trained model.
    """

    predicts_rows = False  # one text of each row

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, GroupedTexts(ensemble), VectorOutputs(ensemble), name="embedder")
        self.methods = {}

    def signatures(self) -> dict[str, Any]:
        answer = tf.function(self._answer, input_signature=self.input_side.specs, autograph=False)
        return {"serving_default": answer, **self.input_side.signatures(self), **self.attention_signatures()}

    def _answer(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        features, notes = self.input_side.read(texts)
        num_rows = tf.size(texts[0])
        return {**self.predict(features, num_rows), NUM_TOKENS: count_tokens(features[0], num_rows), **notes}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        batches = self.input_side.warm_up(rows)
        for columns in batches:
            yield "serving_default", columns
        yield from self.input_side.warm_up_signatures(batches[-1])
