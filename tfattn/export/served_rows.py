"""What is served of a task that predicts something of each row: what is read and what is answered, each by itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.served import Columns, Comparison, Served
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.trained.ensemble import TrainedEnsemble

Features = dict[str, tf.Tensor]


class Inputs:
    """What requests hold, and how models read it.

    Attributes:
        names: of the inputs.
        lists: those of them of which each row has several texts.
        missing: the texts that say that an input has no value.
        preprocessors: those that are needed to read requests.
    """

    names: tuple[str, ...]
    lists: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    preprocessors: list[Preprocessor]

    def type_of(self, name: str) -> tf.DType:
        """Return the type of an input, which has a value for each row."""
        raise NotImplementedError

    @property
    def specs(self) -> list[tf.TensorSpec]:
        """The inputs as signatures take them: (B,) each, and lists (B, N)."""
        return [
            tf.TensorSpec([None] * (1 + (name in self.lists)), self.type_of(name), name=name) for name in self.names
        ]

    def of_examples(self, examples: tf.Tensor) -> list[tf.Tensor]:
        """Turn serialized tf.Examples (B,) into inputs; lists are padded with empty texts."""
        features = {
            name: tf.io.RaggedFeature(self.type_of(name))
            if name in self.lists
            else tf.io.FixedLenFeature([], self.type_of(name))
            for name in self.names
        }
        parsed = tf.io.parse_example(examples, features)
        return [parsed[name].to_tensor() if name in self.lists else parsed[name] for name in self.names]

    def read(self, columns: Sequence[tf.Tensor]) -> tuple[list[Features], dict[str, tf.Tensor]]:
        """Turn inputs, in the order of `names`, into the features of each model, and outputs about them."""
        raise NotImplementedError

    def shown(self, *columns: tf.Tensor) -> tuple[Features, dict[str, tf.Tensor]]:
        """Turn inputs into the features of one example of each row, of which attention is shown, and what to know."""
        features, about = self.read(columns)
        return features[0], about

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        """Return the labels of the tokens of features, see `attention.Shown`."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """Return `inputs` and `entries` as `Served.about` has them, of what is read."""
        raise NotImplementedError

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        """Turn raw rows into values by input."""
        raise NotImplementedError

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> list[Columns]:
        """Choose batches of rows for which a server should be ready, the most telling last."""
        raise NotImplementedError

    def signatures(self, served: "ServedRows") -> dict[str, Any]:
        """Return further signatures, name to tf.function; none by default."""
        return {}

    def warm_up_signatures(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        """Yield requests to these, made of a batch for serving_default."""
        return iter(())


class Outputs:
    """What is answered, of what models predict together.

    Attributes:
        method, signature: the method of TF Serving that takes tf.Examples, and its name among the signatures.
        shown_metrics: as `Served` has them.
        names: what the scores are of, of which the highest can be explained.
    """

    method: str
    signature: str
    names: Sequence[str] = ()
    shown_metrics: tuple[str, ...] = ()

    def named(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the outputs of serving_default."""
        raise NotImplementedError

    def of_examples(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return those of the method that takes tf.Examples, from those of serving_default."""
        raise NotImplementedError

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Hold outputs against predictions, as `Served.compared`."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """Return what `Served.about` says of the outputs: `entries`, and more."""
        return {"entries": {}}

    def save_assets(self, folder: Path) -> None:
        """Write what people may want to read beside the graph."""


class ServedRows(Served):
    """Preprocessing, models and outputs of a task that predicts something of each row.

        serving_default   the inputs -> the outputs, and those about the inputs
        classify          or `regress`: inputs (B,), each a serialized tf.Example with those features

    Args:
        ensemble: the trained models, which predict together.
        input_side: what is read.
        output_side: what is answered.
        name: of the module.
    """

    def __init__(self, ensemble: TrainedEnsemble, input_side: Inputs, output_side: Outputs, *, name: str):
        super().__init__(ensemble, name=name)
        self.preprocessors = input_side.preprocessors
        self.input_side, self.output_side = input_side, output_side
        self.methods = {output_side.signature: output_side.method}
        self.shown_metrics = output_side.shown_metrics

    @property
    def missing(self) -> tuple[str, ...]:
        return self.input_side.missing

    def signatures(self) -> dict[str, Any]:
        answer = tf.function(self._answer, input_signature=self.input_side.specs, autograph=False)

        def from_examples(inputs: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._from_examples(inputs, answer)

        examples = [tf.TensorSpec([None], tf.string, name="inputs")]
        return {
            "serving_default": answer,
            self.output_side.signature: tf.function(from_examples, input_signature=examples, autograph=False),
            **self.input_side.signatures(self),
            **self.views(),
        }

    def views(self) -> dict[str, Any]:
        side = self.input_side
        if side.lists:  # several texts of a row, each read by itself
            return {}
        return self._attention(inputs=side.specs, read=side.shown, labels=side.labels, names=self.output_side.names)

    def about(self) -> dict[str, Any]:
        inputs, outputs = self.input_side.about(), self.output_side.about()
        return inputs | outputs | {"entries": inputs["entries"] | outputs["entries"]}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        return self.input_side.request(rows)

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Batches of rows, then each other signature."""
        batches = self.input_side.warm_up(rows)
        for columns in batches:
            yield "serving_default", columns
        yield from self.input_side.warm_up_signatures(batches[-1])
        each = zip(*batches[-1].values(), strict=True)
        yield (
            self.output_side.signature,
            {"inputs": [example(dict(zip(self.inputs, row, strict=True))) for row in each]},
        )

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        return self.output_side.compared(expected, received, tolerance=tolerance)

    def save_assets(self, folder: Path) -> None:
        """Write the files that explain the outputs, and the preprocessor's files."""
        super().save_assets(folder)
        self.output_side.save_assets(folder)

    def run(self, features: Sequence[Features]) -> list[dict[str, tf.Tensor]]:
        """Return the outputs of each model for its features."""
        return [run(some) for run, some in zip(self._runs, features, strict=True)]

    def answered(self, features: Sequence[Features], num_rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the named outputs of what all models predict together for B rows."""
        return self.output_side.named(self._predicted(features, num_rows))

    def _answer(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
        features, about = self.input_side.read(columns)
        return self.answered(features, tf.size(columns[0])) | about

    def _from_examples(self, inputs: tf.Tensor, answer: Callable) -> dict[str, tf.Tensor]:
        """Answer serialized tf.Examples; `answer` is serving_default, which is traced once for both."""
        return self.output_side.of_examples(answer(*self.input_side.of_examples(inputs)))


def example(row: Mapping[str, str | bytes | float | list[str]]) -> bytes:
    """Serialize a row as a tf.Example."""
    built = tf.train.Example()
    for name, value in row.items():
        feature = built.features.feature[name]
        if isinstance(value, float | int):
            feature.float_list.value.append(value)
        else:
            texts = value if isinstance(value, list) else [value]
            feature.bytes_list.value.extend(text if isinstance(text, bytes) else text.encode() for text in texts)
    return built.SerializeToString(deterministic=True)
