"""An export of texts: named outputs, any batch size, independence of padding."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.row_tasks import Classifier
from tfattn.trained.ensemble import TrainedEnsemble


def texts(rows):
    return tf.constant([row["text"] for row in rows])


def test_outputs_have_names_and_types(loaded, rows, expected):
    answers = loaded.signatures["serving_default"](text=texts(rows))
    assert {name: value.dtype for name, value in answers.items()} == {
        "label": tf.string,
        "label_id": tf.int64,
        "scores": tf.float32,
        "truncated": tf.bool,
    }
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-6)
    np.testing.assert_array_equal(answers["label_id"], expected["label_ids"])
    named = [label.decode() for label in answers["label"].numpy()]
    assert named == [["Leak", "Électronique", "机械"][index] for index in expected["label_ids"]]
    assert len(set(named)) > 1


def test_no_rows_give_no_predictions_and_empty_text_gives_one(loaded):
    for signature in ("serving_default", "features"):
        answers = loaded.signatures[signature](text=tf.constant([], tf.string))
        assert all(len(value) == 0 for value in answers.values())
    answers = loaded.signatures["serving_default"](text=tf.constant([""]))
    assert np.isclose(np.sum(answers["scores"]), 1.0, atol=1e-6)


def test_predictions_do_not_depend_on_the_batch(loaded, rows):
    answer = loaded.signatures["serving_default"]
    together = answer(text=texts(rows))["scores"]
    alone = np.concatenate([answer(text=texts([row]))["scores"] for row in rows])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_serialized_examples_are_classified(loaded, rows, expected):
    features = [
        tf.train.Features(feature={"text": tf.train.Feature(bytes_list={"value": [row["text"].encode()]})})
        for row in rows
    ]
    inputs = tf.constant([tf.train.Example(features=one).SerializeToString() for one in features])
    answers = loaded.signatures["classify"](inputs=inputs)
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-6)
    assert answers["classes"].shape == answers["scores"].shape
    assert [label.decode() for label in answers["classes"][0].numpy()] == ["Leak", "Électronique", "机械"]


def test_features_are_the_inputs_of_the_head(loaded, task, served, rows):
    encoded = loaded.signatures["features"](text=texts(rows))["encoded"]
    assert encoded.shape == (len(rows), 8)
    np.testing.assert_allclose(encoded, task.encode(served.input_side.tokens({"text": texts(rows)})), atol=1e-6)


def test_features_have_the_number_of_tokens_and_whether_the_text_was_cut(loaded, served, rows):
    found = loaded.signatures["features"](text=texts(rows))
    mask = served.input_side.tokens({"text": texts(rows)})["padding_mask"]
    np.testing.assert_array_equal(found["num_tokens"], np.sum(mask, axis=1))
    cut = loaded.signatures["serving_default"](text=texts(rows))["truncated"]
    np.testing.assert_array_equal(found["truncated"], cut)


def test_token_inputs_equal_text_for_any_padding_value(loaded, served, rows, expected):
    tokens = {name: value.numpy() for name, value in served.input_side.tokens({"text": texts(rows)}).items()}
    padding = tokens["padding_mask"] == 0
    assert padding.any()
    tokens["token_ids"][padding] = 10**6
    tokens["segment_ids"][padding] = -5
    answers = loaded.signatures["tokens"](**{name: tf.constant(value) for name, value in tokens.items()})
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-6)


def test_tokens_are_distinguished_from_server_padding(loaded, served, rows, expected):
    """TF Serving pads each input of a request, the mask too, with that input's first element."""
    requests = [served.input_side.tokens({"text": texts(some)}) for some in (rows[:1], rows[1:])]
    batch = {name: tf.concat([_padded(request[name], 16) for request in requests], 0) for name in requests[0]}
    assert np.all(batch["padding_mask"][0] == 1)
    np.testing.assert_allclose(loaded.signatures["tokens"](**batch)["scores"], expected["scores"], atol=1e-6)


def _padded(values, length):
    return tf.pad(values, [[0, 0], [0, length - values.shape[1]]], constant_values=int(values[0, 0]))


def test_cut_texts_are_flagged(loaded, pair):
    answers = loaded.signatures["serving_default"](text=tf.constant(["noise " * 14, "noise " * 15, "x" * 10_000, ""]))
    assert answers["truncated"].numpy().tolist() == [False, True, False, False]  # the third is one unknown word
    both = pair.signatures()["serving_default"](tf.constant(["noise " * 7] * 2), tf.constant(["it " * 6, "it " * 7]))
    assert both["truncated"].numpy().tolist() == [False, True]


def test_too_many_tokens_are_refused(loaded):
    ones = tf.ones((1, 17), tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="up to 16 tokens"):
        loaded.signatures["tokens"](token_ids=ones, padding_mask=ones, segment_ids=ones)


def test_a_pair_has_two_inputs(pair):
    answer = pair.signatures()["serving_default"].get_concrete_function()
    assert sorted(answer.structured_input_signature[0][index].name for index in (0, 1)) == ["text_a", "text_b"]
    one, other = tf.constant(["very loud"]), tf.constant(["noise"])
    straight, swapped = answer(one, other)["scores"], answer(other, one)["scores"]
    assert np.abs(straight - swapped).max() > 1e-4


def test_a_label_with_a_line_break_is_refused(served):
    class Task:
        compute_dtype, labels, weights = "float32", ["a\nb"], ()
        model, positive_id = SimpleNamespace(max_sequence_length=8), None

    with pytest.raises(ExportError, match="labels.txt.*'a.nb'"):
        Classifier(TrainedEnsemble([(served.preprocessors[0], Task())]))


def test_another_precision_than_float32_is_refused(served):
    class Task:
        compute_dtype, labels, weights = "bfloat16", ["a"], ()
        model, positive_id = SimpleNamespace(max_sequence_length=8), None

    with pytest.raises(ExportError, match="expected float32, received bfloat16"):
        Classifier(TrainedEnsemble([(served.preprocessors[0], Task())]))


def test_a_long_text_is_predicted_as_the_mean_of_its_windows(classifier, served, task):
    windows = classifier("text", max_length=6, doc_stride=2)
    texts = ["it is very loud very", "noise", "coolant pooling under sorter"]
    functions = windows.signatures()
    batches = [
        columns["text"]
        for name, columns in windows.warm_up([{"text": text} for text in texts])
        if name == "serving_default"
    ]
    assert set(texts) <= {text for batch in batches for text in batch if isinstance(text, str)}
    found = functions["serving_default"](tf.constant(texts))
    parts = ["it is very loud", "very loud very"]
    alone = served.signatures()["serving_default"](tf.constant([*parts, *texts[1:]]))["scores"].numpy()
    np.testing.assert_allclose(found["scores"], [alone[:2].mean(0), *alone[2:]], atol=1e-6)
    assert not found["truncated"].numpy().any() and windows.metadata()["inputs"]["text"]["max_tokens"] is None
    encoded = served.signatures()["features"](tf.constant([*parts, *texts[1:]]))["encoded"].numpy()
    np.testing.assert_allclose(
        functions["features"](tf.constant(texts))["encoded"], [encoded[:2].mean(0), *encoded[2:]], atol=1e-6
    )
    tokens = served.signatures()["features"](tf.constant([*parts, *texts[1:]]))["num_tokens"].numpy()
    found_tokens = functions["features"](tf.constant(texts))["num_tokens"]
    np.testing.assert_array_equal(found_tokens, [tokens[:2].sum(), *tokens[2:]])
    assert all(len(value) == 0 for value in functions["serving_default"](tf.constant([], tf.string)).values())
    ensemble = TrainedEnsemble([(windows.preprocessors[0], task)])
    np.testing.assert_allclose(
        found["scores"], ensemble.predict([{"text": text} for text in texts])["scores"], atol=1e-6
    )
