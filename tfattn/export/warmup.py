"""Requests that a server answers before it calls a version available, so that no user waits for a first time."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_log_pb2

from tfattn.export.signatures import Classification

FILE = Path("assets.extra") / "tf_serving_warmup_requests"  # where TF Serving looks
MOST_EXAMPLES = 1000  # rows that are looked through for one of each length
LONGEST = 2**14  # characters, which are cut to as many tokens as the model takes


def write(folder: Path, served: Classification, *, name: str, rows: Mapping[str, Sequence[str]]) -> int:
    """Writes the warm-up requests of a version: every length there may be, every signature.

    Args:
        folder: the version's folder.
        served: what was exported.
        name: the model's name.
        rows: example rows, field by field.

    Returns:
        how many requests were written.
    """
    chosen = one_of_each_length(served, {field: list(values[:MOST_EXAMPLES]) for field, values in rows.items()})
    num_rows = len(chosen[served.inputs[0]])
    one_by_one = [{field: [texts[index]] for field, texts in chosen.items()} for index in range(num_rows)]
    logs = [_predict(name, "serving_default", batch) for batch in (*one_by_one, chosen)]
    logs += [_predict(name, "features", chosen), _predict(name, "tokens", served.tokens(chosen))]
    logs += [_classify(name, chosen)]
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for log in logs:
            writer.write(log.SerializeToString(deterministic=True))
    return len(logs)


def one_of_each_length(served: Classification, rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """A row for each power of two that its length in tokens can round up to, shortest first; real ones if there are."""
    candidates = {field: [*values, *_of_all_lengths(values)] for field, values in rows.items()}
    lengths = np.sum(served.tokens(candidates)["padding_mask"], axis=1)
    _, first_of_bucket = np.unique(np.ceil(np.log2(np.maximum(lengths, 1))), return_index=True)
    chosen = [*first_of_bucket[:-1], len(lengths) - 1]  # the last is as long as the model takes
    return {field: [values[index] for index in chosen] for field, values in candidates.items()}


def _of_all_lengths(texts: list[str]) -> list[str]:
    longest = " ".join(itertools.islice(itertools.cycle(texts), LONGEST))
    return [longest[: 2**power] for power in range(LONGEST.bit_length())]


def _predict(name: str, signature: str, inputs: Mapping[str, object]) -> prediction_log_pb2.PredictionLog:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))


def _classify(name: str, rows: dict[str, list[str]]) -> prediction_log_pb2.PredictionLog:
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = name, "classify"
    for row in zip(*rows.values(), strict=True):
        example = request.input.example_list.examples.add()
        for field, text in zip(rows, row, strict=True):
            example.features.feature[field].bytes_list.value.append(text.encode("utf-8"))
    return prediction_log_pb2.PredictionLog(classify_log=prediction_log_pb2.ClassifyLog(request=request))
