"""Warm-up requests cover every signature, and short and long inputs."""

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from tfattn.export import warmup
from tfattn.export.warmup import sample_each_length


def test_every_request_runs_and_all_lengths_are_covered(exported, loaded, served):
    records = tf.data.TFRecordDataset(str(exported / warmup.FILE)).as_numpy_iterator()
    logs = [prediction_log_pb2.PredictionLog.FromString(record) for record in records]
    assert 0 < len(logs) <= 1000
    asked, lengths = set(), set()
    for log in logs:
        if log.HasField("classify_log"):
            examples = log.classify_log.request.input.example_list.examples
            spec = log.classify_log.request.model_spec
            inputs = {"inputs": tf.constant([example.SerializeToString() for example in examples])}
        else:
            spec = log.predict_log.request.model_spec
            inputs = {
                name: tf.constant(tf.make_ndarray(value)) for name, value in log.predict_log.request.inputs.items()
            }
        assert spec.name == "reports"
        asked.add(spec.signature_name)
        answers = loaded.signatures[spec.signature_name](**inputs)
        assert all(np.isfinite(value).all() for value in answers.values() if value.dtype == tf.float32)
        if spec.signature_name == "serving_default":
            lengths |= set(np.sum(served.input_side.tokens({"text": inputs["text"]})["padding_mask"], axis=1).tolist())
    assert asked == {"serving_default", "classify", "features", "tokens"}
    assert {int(np.ceil(np.log2(length))) for length in lengths} >= {2, 3, 4}
    assert max(lengths) == 16


def test_pairs_are_warmed_up(pair):
    def lengths(fields):
        return np.sum(pair.input_side.tokens(fields)["padding_mask"], axis=1)

    chosen = sample_each_length(lengths, {"text_a": ["very loud"], "text_b": ["noise"]})
    assert set(chosen) == {"text_a", "text_b"}
    assert lengths(chosen).max() == 16
