"""Warm-up requests, which a server runs before a version becomes available, so that first requests are fast."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_log_pb2, regression_pb2

from tfattn.export.label_outputs import CLASSIFY
from tfattn.export.number_outputs import REGRESS
from tfattn.export.servable_model import Columns, ServableModel

FILE = Path("assets.extra") / "tf_serving_warmup_requests"  # where TF Serving looks
MAX_EXAMPLES = 1000  # rows that are searched for a row of each length
MAX_TEXT_LENGTH = 2**14  # characters; texts are truncated to the tokens that the model takes


def write(folder: Path, served: ServableModel, requests: Iterable[tuple[str, Columns]], *, name: str) -> int:
    """Write the warm-up requests of a version.

    Args:
        folder: the version's folder.
        served: the exported model.
        requests: pairs of signature and inputs, from `served.warm_up`.
        name: the model's name.

    Returns:
        the number of requests.
    """
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    count = 0
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            to_log = {CLASSIFY: _classify, REGRESS: _regress}.get(served.methods.get(signature, ""), _predict)
            log = to_log(name, signature, inputs)
            writer.write(log.SerializeToString(deterministic=True))
            count += 1
    return count


def _predict(name: str, signature: str, inputs: Columns) -> prediction_log_pb2.PredictionLog:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))


def _classify(name: str, signature: str, inputs: Columns) -> prediction_log_pb2.PredictionLog:
    request = _fill_examples(classification_pb2.ClassificationRequest(), name, signature, inputs)
    return prediction_log_pb2.PredictionLog(classify_log=prediction_log_pb2.ClassifyLog(request=request))


def _regress(name: str, signature: str, inputs: Columns) -> prediction_log_pb2.PredictionLog:
    request = _fill_examples(regression_pb2.RegressionRequest(), name, signature, inputs)
    return prediction_log_pb2.PredictionLog(regress_log=prediction_log_pb2.RegressLog(request=request))


def _fill_examples(request: Any, name: str, signature: str, inputs: Columns) -> Any:
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for example in inputs["inputs"]:
        request.input.example_list.examples.add().MergeFromString(example)
    return request


def sample_each_length(
    lengths_of: Callable[[dict[str, list[Any]]], np.ndarray], rows: dict[str, Sequence[str | list[str]]]
) -> dict[str, list[Any]]:
    """Return a row for each power of two up to the maximum length, shortest first; real rows where possible.

    Args:
        lengths_of: returns the number of tokens per row, (N,), given N texts by field.
        rows: N example texts, or lists of texts, by field.
    """
    limited = {field: list(values[:MAX_EXAMPLES]) for field, values in rows.items()}
    candidates = {field: [*values, *_texts_of_all_lengths(values)] for field, values in limited.items()}
    lengths = lengths_of(candidates)
    _, first_of_bucket = np.unique(np.ceil(np.log2(np.maximum(lengths, 1))), return_index=True)
    chosen = [*first_of_bucket[:-1], len(lengths) - 1]  # the last has the maximum length
    return {field: [values[index] for index in chosen] for field, values in candidates.items()}


def _texts_of_all_lengths(texts: list[Any]) -> list[Any]:
    if isinstance(texts[0], list):
        return [list(row) for row in zip(*map(_texts_of_all_lengths, zip(*texts, strict=True)), strict=True)]
    longest = " ".join(itertools.islice(itertools.cycle(texts), MAX_TEXT_LENGTH))
    return [longest[: 2**power] for power in range(MAX_TEXT_LENGTH.bit_length())]
