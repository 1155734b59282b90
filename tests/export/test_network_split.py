"""An export is divided at its network, and nothing is computed twice."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.network_split import split
from tfattn.export.servable_model import Network, ServableModel


@pytest.fixture(scope="module")
def parts(served):
    return split(served)


def operations(function):
    return [op.type for op in function.get_concrete_function().graph.get_operations()]


def test_the_network_has_numbers_only(parts):
    specs = {spec.name: spec.dtype for spec in parts.network.input_signature}
    assert specs == dict.fromkeys(("token_ids", "padding_mask", "segment_ids"), tf.int32)
    assert list(parts.network.get_concrete_function().structured_outputs) == ["logits"]


def test_texts_are_read_once(parts):
    # `truncated` does not depend on the network, so that the second half does not read the texts.
    before, after = parts.answer
    assert "result_truncated" in before.get_concrete_function().structured_outputs
    assert [spec.name for spec in after.input_signature] == ["logits"]
    assert not any("Regex" in name or "Wordpiece" in name for name in operations(after))
    assert len(operations(after)) < 40


def test_predictions_are_those_of_the_task(parts, served, expected, rows):
    texts = tf.constant([row["text"] for row in rows])
    found = parts.predictions.compute(lambda given: network(parts, given), texts)
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-6)
    np.testing.assert_array_equal(found["label_ids"], expected["label_ids"])


def network(parts, given):
    names = [spec.name for spec in parts.network.input_signature]
    return {name: x.numpy() for name, x in parts.network(*(tf.cast(given[name], tf.int32) for name in names)).items()}


def test_the_export_is_unchanged_afterwards(served, rows):
    texts = tf.constant([row["text"] for row in rows])
    before = served.signatures()["serving_default"](texts)
    split(served)
    after = served.signatures()["serving_default"](texts)
    assert Network._replacement is None
    assert all(np.array_equal(before[name], after[name]) for name in before)


class Table(ServableModel):
    """An export without a network."""

    def __init__(self):
        tf.Module.__init__(self, name="table")
        self._records = None

    def signatures(self):
        spec = [tf.TensorSpec([None], tf.string, name="word")]
        return {"serving_default": tf.function(lambda word: {"length": tf.strings.length(word)}, input_signature=spec)}


def test_an_export_without_a_network_is_refused():
    with pytest.raises(
        ExportError, match=r"LiteRT is not offered for this export \(table\): expected .*Remove `litert`"
    ):
        split(Table())
