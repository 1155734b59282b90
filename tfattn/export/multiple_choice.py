"""What an export can be asked that chooses one of several texts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.label_outputs import CLASSIFY, comparison
from tfattn.export.served import Comparison
from tfattn.export.served_rows import Outputs, ServedRows
from tfattn.export.text_inputs import TextInputs
from tfattn.features import CHOICES, LABEL_IDS
from tfattn.rows import widened
from tfattn.trained.ensemble import TrainedEnsemble


class ChoiceOutputs(Outputs):
    """Which of the texts of a row was chosen, by the mean of the models' probabilities.

    label_id (B,) int64, its number from 0; scores (B, N) float32, the probability of each, 0 where there is none.
    """

    method, signature = CLASSIFY, "classify"
    shown_metrics = ("accuracy", "baseline_accuracy")

    def named(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {
            "label_id": tf.cast(predictions[LABEL_IDS], tf.int64),
            "scores": tf.cast(predictions["scores"], tf.float32),
        }

    def of_examples(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"classes": outputs[CHOICES], "scores": outputs["scores"]}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Choices are to be the same but where two score alike, and scores about the same."""
        wanted, scores = (np.asarray(one["scores"], np.float64) for one in (expected, received))
        width = max(wanted.shape[1], scores.shape[1])
        wanted, scores = (widened(one, [width]) for one in (wanted, scores))
        chosen, found = np.asarray(expected[LABEL_IDS]), np.asarray(received["label_id"])
        rows = np.arange(len(chosen))
        is_alike = wanted[rows, chosen] - wanted[rows, found] <= 2 * tolerance
        return comparison(
            (chosen == found) | is_alike,
            np.abs(wanted - scores).max(axis=1),
            tolerance=tolerance,
            expected=lambda row: f"choice {chosen[row]}",
            received=lambda row: f"choice {found[row]}",
        )


class ChoicePicker(ServedRows):
    """Chooses which of several texts fits a context; see TextInputs and ChoiceOutputs.

        serving_default   context (B,), choices (B, N) string -> choice (B,) string, label_id, scores, and truncated
                          (B,) bool. A choice that is empty is none; a row without any is refused
        classify          inputs (B,), each a tf.Example with these features -> classes (B, N), scores (B, N)
        features, tokens  see TextInputs

    Args:
        ensemble: the trained models, which predict together.
    """

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, TextInputs(ensemble, lists=[CHOICES]), ChoiceOutputs(), name="choice_picker")

    def _answer(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs, choices = self._chosen(*columns)
        return {"choice": tf.gather(choices, outputs["label_id"], batch_dims=1), **outputs}

    def _from_examples(self, inputs: tf.Tensor, answer: Callable) -> dict[str, tf.Tensor]:
        # Not by `answer`, which tells the one choice and not all.
        outputs, choices = self._chosen(*self.input_side.of_examples(inputs))
        return self.output_side.of_examples({CHOICES: choices, **outputs})

    def _chosen(self, context: tf.Tensor, choices: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """Return the outputs that are no texts, and the choices as they were read."""
        has_one = tf.reduce_all(tf.reduce_any(tf.strings.length(choices) > 0, axis=1))
        with tf.control_dependencies([tf.debugging.Assert(has_one, ["a row has no choice"])]):
            choices = tf.identity(choices)
        return super()._answer(context, choices), choices
