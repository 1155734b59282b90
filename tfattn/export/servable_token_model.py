"""Exports of tasks with predictions per token."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.export.servable_model import Columns, ServableModel
from tfattn.export.text_inputs import TextInputs
from tfattn.features import LOGITS
from tfattn.trained.ensemble import TrainedEnsemble


class ServableTokenModel(ServableModel):
    """An export with signatures of texts, and a signature from tokens to logits.

    Args:
        ensemble: the trained models.
        name: the name of the module.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, name: str):
        super().__init__(ensemble, name=name)
        self._inputs = TextInputs(ensemble)

    def text_functions(self) -> dict[str, Any]:
        """Return signature name to function of texts, `serving_default` first."""
        raise NotImplementedError

    def logits(self, *tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """Compute logits from token inputs, see `TextInputs.token_specs`."""
        raise NotImplementedError

    def signatures(self) -> dict[str, Any]:
        texts = [tf.TensorSpec([None], tf.string, name=name) for name in self.inputs]
        functions = {
            name: tf.function(function, input_signature=texts, autograph=False)
            for name, function in self.text_functions().items()
        }
        logits = tf.function(self.logits, input_signature=self._inputs.token_specs, autograph=False)
        return {**functions, LOGITS: logits, **self.attention_signatures()}

    def attention_signatures(self) -> dict[str, Any]:
        side = self._inputs
        return self._attention(inputs=side.specs, read=side.read_for_attention, labels=side.labels)

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return self._inputs.request(rows)

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield batches of all lengths for the first signature, then one request per other signature."""
        first, *others = self.text_functions()
        batches = self._inputs.warm_up(rows)
        for columns in batches:
            yield first, columns
        for name in others:
            yield name, batches[-1]
        yield LOGITS, self._inputs.tokens(batches[-1])
