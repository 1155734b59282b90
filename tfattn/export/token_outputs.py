"""What is asked of models that predict something of tokens, whatever that is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.export.served import Columns, Served
from tfattn.export.text_inputs import TextInputs
from tfattn.features import LOGITS
from tfattn.trained.ensemble import TrainedEnsemble


class ServedTokens(Served):
    """Reads texts, and answers what it finds in them; tokens, and answers the logits of each.

    Args:
        ensemble: the trained models.
        name: of the module.
    """

    def __init__(self, ensemble: TrainedEnsemble, *, name: str):
        super().__init__(ensemble, name=name)
        self._inputs = TextInputs(ensemble)

    def found(self) -> dict[str, Any]:
        """Return the functions of texts by the names of their signatures, `serving_default` first."""
        raise NotImplementedError

    def logits(self, *tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        """Compute the logits of tokens, as `TextInputs.token_specs` lists them."""
        raise NotImplementedError

    def signatures(self) -> dict[str, Any]:
        texts = [tf.TensorSpec([None], tf.string, name=name) for name in self.inputs]
        of_texts = {
            name: tf.function(find, input_signature=texts, autograph=False) for name, find in self.found().items()
        }
        logits = tf.function(self.logits, input_signature=self._inputs.token_specs, autograph=False)
        return {**of_texts, LOGITS: logits, **self.views()}

    def views(self) -> dict[str, Any]:
        side = self._inputs
        return self._attention(inputs=side.specs, read=side.shown, labels=side.labels)

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return self._inputs.request(rows)

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield texts of every length there may be, each alone and all together; then each other signature."""
        first, *others = self.found()
        batches = self._inputs.warm_up(rows)
        for columns in batches:
            yield first, columns
        for name in others:
            yield name, batches[-1]
        yield LOGITS, self._inputs.tokens(batches[-1])
