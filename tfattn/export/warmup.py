"""Requests that a server answers before it calls a version available, so that no user waits for a first time."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_log_pb2, regression_pb2

from tfattn.export.label_outputs import CLASSIFY
from tfattn.export.number_outputs import REGRESS
from tfattn.export.served import Columns, Served

FILE = Path("assets.extra") / "tf_serving_warmup_requests"  # where TF Serving looks


def write(folder: Path, served: Served, requests: Iterable[tuple[str, Columns]], *, name: str) -> int:
    """Write the warm-up requests of a version.

    Args:
        folder: the version's folder.
        served: what was exported.
        requests: of `served.warm_up`.
        name: the model's name.

    Returns:
        how many requests were written.
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
    request = _of_examples(classification_pb2.ClassificationRequest(), name, signature, inputs)
    return prediction_log_pb2.PredictionLog(classify_log=prediction_log_pb2.ClassifyLog(request=request))


def _regress(name: str, signature: str, inputs: Columns) -> prediction_log_pb2.PredictionLog:
    request = _of_examples(regression_pb2.RegressionRequest(), name, signature, inputs)
    return prediction_log_pb2.PredictionLog(regress_log=prediction_log_pb2.RegressLog(request=request))


def _of_examples(request: Any, name: str, signature: str, inputs: Columns) -> Any:
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for one in inputs["inputs"]:
        request.input.example_list.examples.add().MergeFromString(one)
    return request
