"""Exports of tasks with one prediction per row, built from an input side and an output side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.servable_model import Columns, Comparison, ServableModel
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.trained.ensemble import TrainedEnsemble

Features = dict[str, tf.Tensor]
WARM_UP_BATCH_SIZES = (1, 2, 4, 8, 16, 32)


class Inputs:
    """The inputs of an export, and their conversion to features.

    Attributes:
        names: the names of the inputs.
        lists: the names of the inputs with several texts per row.
        missing: the strings that mean a missing value.
        preprocessors: the preprocessors that read requests.
    """

    names: tuple[str, ...]
    lists: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    preprocessors: list[Preprocessor]

    def type_of(self, name: str) -> tf.DType:
        """Return the dtype of an input."""
        raise NotImplementedError

    @property
    def specs(self) -> list[tf.TensorSpec]:
        """The tensor specs of the inputs: (B,) each, (B, N) for lists."""
        return [
            tf.TensorSpec([None] * (1 + (name in self.lists)), self.type_of(name), name=name) for name in self.names
        ]

    def parse_examples(self, examples: tf.Tensor) -> list[tf.Tensor]:
        """Parse serialized tf.Examples (B,) into inputs; lists are padded with empty strings."""
        features = {
            name: tf.io.RaggedFeature(self.type_of(name))
            if name in self.lists
            else tf.io.FixedLenFeature([], self.type_of(name))
            for name in self.names
        }
        parsed = tf.io.parse_example(examples, features)
        return [parsed[name].to_tensor() if name in self.lists else parsed[name] for name in self.names]

    def read(self, columns: Sequence[tf.Tensor]) -> tuple[list[Features], dict[str, tf.Tensor]]:
        """Convert inputs, in the order of `names`, to features per model, and outputs that describe the inputs."""
        raise NotImplementedError

    def read_for_attention(self, *columns: tf.Tensor) -> tuple[Features, dict[str, tf.Tensor]]:
        """Convert inputs to the features of one example per row, for the attention signatures; see `read`."""
        features, notes = self.read(columns)
        return features[0], notes

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        """Return the token labels of features, see `attention.AttentionSpec`."""
        raise NotImplementedError

    def metadata(self) -> dict[str, Any]:
        """Return `inputs` and `entries` of the inputs, see `ServableModel.metadata`."""
        raise NotImplementedError

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        """Convert raw rows to input name to values."""
        raise NotImplementedError

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> list[Columns]:
        """Return batches of several sizes for the warm-up; the last batch also warms up the other signatures."""
        return [self.request([rows[number % len(rows)] for number in range(size)]) for size in WARM_UP_BATCH_SIZES]

    def signatures(self, served: "ServableRowModel") -> dict[str, Any]:
        """Return additional signatures, name to tf.function; none by default."""
        return {}

    def warm_up_signatures(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        """Yield warm-up requests for the additional signatures, from a batch of serving_default."""
        return iter(())


class Outputs:
    """The outputs of an export.

    Attributes:
        method, signature: the TF Serving method that takes tf.Examples, and the name of its signature.
        headline_metrics: see `ServableModel`.
        names: the names of the scores; attributions explain the highest score.
    """

    method: str
    signature: str
    names: Sequence[str] = ()
    headline_metrics: tuple[str, ...] = ()

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Convert predictions to the outputs of serving_default."""
        raise NotImplementedError

    def example_outputs(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Convert the outputs of serving_default to the outputs of the method that takes tf.Examples."""
        raise NotImplementedError

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare outputs with predictions, see `ServableModel.compare`."""
        raise NotImplementedError

    def metadata(self) -> dict[str, Any]:
        """Return `entries` of the outputs and other keys of the card, see `ServableModel.metadata`."""
        return {"entries": {}}

    def save_assets(self, folder: Path) -> None:
        """Write assets that describe the outputs; none by default."""


class ServableRowModel(ServableModel):
    """An export of a task with one prediction per row.

        serving_default   inputs -> outputs, and outputs that describe the inputs
        classify          or `regress`: inputs (B,), serialized tf.Examples with the inputs as features

    Args:
        ensemble: the trained models.
        input_side: the inputs.
        output_side: the outputs.
        name: the name of the module.
    """

    def __init__(self, ensemble: TrainedEnsemble, input_side: Inputs, output_side: Outputs, *, name: str):
        super().__init__(ensemble, name=name)
        self.preprocessors = input_side.preprocessors
        self.input_side, self.output_side = input_side, output_side
        self.methods = {output_side.signature: output_side.method}
        self.headline_metrics = output_side.headline_metrics

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
            **self.attention_signatures(),
        }

    def attention_signatures(self) -> dict[str, Any]:
        side = self.input_side
        if side.lists:  # attention signatures take one sequence per row
            return {}
        return self._attention(
            inputs=side.specs, read=side.read_for_attention, labels=side.labels, names=self.output_side.names
        )

    def metadata(self) -> dict[str, Any]:
        inputs, outputs = self.input_side.metadata(), self.output_side.metadata()
        return inputs | outputs | {"entries": inputs["entries"] | outputs["entries"]}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        return self.input_side.request(rows)

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield batches for serving_default, then one request per other signature."""
        batches = self.input_side.warm_up(rows)
        for columns in batches:
            yield "serving_default", columns
        yield from self.input_side.warm_up_signatures(batches[-1])
        examples = zip(*batches[-1].values(), strict=True)
        yield (
            self.output_side.signature,
            {"inputs": [example(dict(zip(self.inputs, row, strict=True))) for row in examples]},
        )

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        return self.output_side.compare(expected, received, tolerance=tolerance)

    def save_assets(self, folder: Path) -> None:
        """Write the preprocessor's files and the assets of the outputs."""
        super().save_assets(folder)
        self.output_side.save_assets(folder)

    def run(self, features: Sequence[Features]) -> list[dict[str, tf.Tensor]]:
        """Return the outputs of each model for its features."""
        return [run(model_features) for run, model_features in zip(self._runs, features, strict=True)]

    def predict(self, features: Sequence[Features], num_rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the outputs of serving_default for the features of B rows."""
        return self.output_side.name_outputs(self._predicted(features, num_rows))

    def _answer(self, *columns: tf.Tensor) -> dict[str, tf.Tensor]:
        features, notes = self.input_side.read(columns)
        return self.predict(features, tf.size(columns[0])) | notes

    def _from_examples(self, inputs: tf.Tensor, answer: Callable) -> dict[str, tf.Tensor]:
        """Predict for serialized tf.Examples; `answer` is serving_default, so that both share one trace."""
        return self.output_side.example_outputs(answer(*self.input_side.parse_examples(inputs)))


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
