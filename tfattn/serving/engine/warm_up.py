"""Warm-up requests: a version answers them before it is available, so that no client waits for first computations."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from grpc import StatusCode
from tensorflow_serving.apis.input_pb2 import Input
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT, Signature
from tfattn.serving.api.tensors import from_proto, strings

FILE = Path("assets.extra") / "tf_serving_warmup_requests"  # the path of TF Serving
MAX_REQUESTS = 1000  # the limit of TF Serving

WarmUpRequest = tuple[str, dict[str, Any], tuple[str, ...]]


def requests(folder: Path, signatures: Mapping[str, Signature]) -> Iterator[WarmUpRequest]:
    """Yield the signature, inputs and outputs of each warm-up request of a version; nothing without a file.

    Raises:
        Failure: the file is damaged.
    """
    if not (folder / FILE).is_file():
        return
    try:
        for record in tf.data.TFRecordDataset(str(folder / FILE)).take(MAX_REQUESTS).as_numpy_iterator():
            yield from _requests(PredictionLog.FromString(record), signatures)
    except (tf.errors.OpError, DecodeError, KeyError, ValueError) as error:
        raise Failure(StatusCode.DATA_LOSS, f"{folder / FILE}: {error}") from None


def _requests(log: PredictionLog, signatures: Mapping[str, Signature]) -> Iterator[WarmUpRequest]:
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        request = log.predict_log.request
        inputs = {name: from_proto(name, proto) for name, proto in request.inputs.items()}
        yield request.model_spec.signature_name or DEFAULT, inputs, tuple(request.output_filter)
    elif kind in ("classify_log", "regress_log", "multi_inference_log"):
        request = getattr(log, kind).request
        for task in request.tasks if kind == "multi_inference_log" else [request]:
            name = task.model_spec.signature_name or DEFAULT
            (input_name,) = signatures[name].inputs
            yield name, {input_name: _examples(request.input)}, ()


def _examples(examples: Input) -> Any:
    if examples.HasField("example_list"):
        return strings([example.SerializeToString() for example in examples.example_list.examples])
    serialized = []
    for example in examples.example_list_with_context.examples:
        merged = type(example)()
        merged.CopyFrom(examples.example_list_with_context.context)
        merged.MergeFrom(example)
        serialized.append(merged.SerializeToString())
    return strings(serialized)
