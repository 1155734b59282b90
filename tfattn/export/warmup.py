"""Requests that a server answers before it calls a version available, so that no user waits for a first time."""

from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_log_pb2

from tfattn.export.classifier import CLASSIFY
from tfattn.export.served import Columns, Served

FILE = Path("assets.extra") / "tf_serving_warmup_requests"  # where TF Serving looks


def write(folder: Path, served: Served, requests: Iterable[tuple[str, Columns]], *, name: str) -> int:
    """Writes the warm-up requests of a version.

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
            is_classify = served.methods.get(signature) == CLASSIFY
            log = _classify(name, signature, **inputs) if is_classify else _predict(name, signature, inputs)
            writer.write(log.SerializeToString(deterministic=True))
            count += 1
    return count


def _predict(name: str, signature: str, inputs: Columns) -> prediction_log_pb2.PredictionLog:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))


def _classify(name: str, signature: str, inputs: Iterable[bytes]) -> prediction_log_pb2.PredictionLog:
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for one in inputs:
        request.input.example_list.examples.add().MergeFromString(one)
    return prediction_log_pb2.PredictionLog(classify_log=prediction_log_pb2.ClassifyLog(request=request))
