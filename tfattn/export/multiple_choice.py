"""The export of multiple choice: choose one of several texts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.label_outputs import CLASSIFY, label_comparison
from tfattn.export.servable_model import Comparison
from tfattn.export.servable_row_model import Outputs, ServableRowModel
from tfattn.export.text_inputs import TextInputs
from tfattn.features import CHOICES, LABEL_IDS
from tfattn.rows import widened
from tfattn.trained.ensemble import TrainedEnsemble


class ChoiceOutputs(Outputs):
    """The chosen text of each row, by the mean probability over the models.

    label_id (B,) int64, the index of the chosen text; scores (B, N) float32, probabilities, 0 for padding.
    """

    method, signature = CLASSIFY, "classify"
    headline_metrics = ("accuracy", "baseline_accuracy")

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {
            "label_id": tf.cast(predictions[LABEL_IDS], tf.int64),
            "scores": tf.cast(predictions["scores"], tf.float32),
        }

    def example_outputs(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"classes": outputs[CHOICES], "scores": outputs["scores"]}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare scores within the tolerance, and choices for equality except for ties."""
        wanted, scores = (np.asarray(outputs["scores"], np.float64) for outputs in (expected, received))
        width = max(wanted.shape[1], scores.shape[1])
        wanted, scores = (widened(values, [width]) for values in (wanted, scores))
        chosen, found = np.asarray(expected[LABEL_IDS]), np.asarray(received["label_id"])
        rows = np.arange(len(chosen))
        is_alike = wanted[rows, chosen] - wanted[rows, found] <= 2 * tolerance
        return label_comparison(
            (chosen == found) | is_alike,
            np.abs(wanted - scores).max(axis=1),
            tolerance=tolerance,
            expected=lambda row: f"choice {chosen[row]}",
            received=lambda row: f"choice {found[row]}",
        )


class ChoicePicker(ServableRowModel):
    """An export that chooses the text that fits a context; see TextInputs and ChoiceOutputs.

        serving_default   context (B,), choices (B, N) string -> choice (B,) string, label_id, scores, truncated (B,)
                          bool. Empty choices are padding; a row without choices is an error
        classify          inputs (B,), serialized tf.Examples with these features -> classes (B, N), scores (B, N)
        features, tokens  see TextInputs

    Args:
        ensemble: the trained models.
    """

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, TextInputs(ensemble, lists=[CHOICES]), ChoiceOutputs(), name="choice_picker")

    def _answer(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs, choices = self._chosen(*columns)
        return {"choice": tf.gather(choices, outputs["label_id"], batch_dims=1), **outputs}

    def _from_examples(self, inputs: tf.Tensor, answer: Callable) -> dict[str, tf.Tensor]:
        # `answer` returns only the chosen text, but Classify returns all choices.
        outputs, choices = self._chosen(*self.input_side.parse_examples(inputs))
        return self.output_side.example_outputs({CHOICES: choices, **outputs})

    def _chosen(self, context: tf.Tensor, choices: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Return the outputs except `choice`, and the choices."""
        has_one = tf.reduce_all(tf.reduce_any(tf.strings.length(choices) > 0, axis=1))
        with tf.control_dependencies([tf.debugging.Assert(has_one, ["a row has no choice"])]):
            choices = tf.identity(choices)
        return super()._answer(context, choices), choices
