"""The contract check of preprocessors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tfattn.errors import TfattnError
from tfattn.features import CATEGORY_IDS, MASKS, PADDING_MASK, TARGET_IDS, TOKEN_IDS
from tfattn.graphs import operations
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.preprocessor import Preprocessor

# Texts as users send them: none, blank, in other scripts, not UTF-8, like special tokens, and far too long.
ODD = [
    b"",
    b" \t\n",
    "\u200b\ufffd\x00".encode(),
    "Ｍ泵漏 e\u0301 \U0001f600\u00ad".encode(),
    b"\xff a\xe2\x82 \xed\xa0\x80",
    b"[CLS] [MASK] <s> </s> <unk>",
    b"a " * 300,
]
SIZES = {TOKEN_IDS: "vocabulary_size", TARGET_IDS: "target_vocabulary_size"}


def check_preprocessor(
    fitted: Preprocessor,
    unfitted: Preprocessor,
    rows: Sequence[dict[str, str]],
    *,
    folder: Path,
    odd_fields: Sequence[str] | None = None,
) -> None:
    """Check the contract of preprocessors.

    Args:
        fitted: a fitted preprocessor.
        unfitted: a preprocessor of the same class with other settings, which loads the files of `fitted`.
        rows: at least two ordinary rows.
        folder: an empty folder.
        odd_fields: the fields that accept any text; by default all.
    """
    fields = _columns(fitted, rows, odd_fields)
    (folder / "saved").mkdir()
    fitted.save(folder / "saved")
    answers = _answers(fitted, fields)

    _check_features(fitted, answers)
    _check_without_targets(fitted, fields, answers)
    _check_rows_are_independent(fitted, fields, answers)
    _check_no_rows_are_answered(fitted, fields, answers)
    _check_unknown(fitted, fields)
    _check_graph_and_export(fitted, fields, answers, folder / "export")
    _check_saving(fitted, unfitted, fields, answers, folder)


def _columns(fitted: Preprocessor, rows: Sequence[dict[str, str]], odd: Sequence[str] | None) -> dict[str, tf.Tensor]:
    """Return the rows, and a further row for each unusual text, by field: (B,) strings each."""
    names = (*fitted.fields, *fitted.target_fields)
    odd = names if odd is None else odd
    strange = [{**rows[0], **dict.fromkeys(odd, text)} for text in ODD]
    return {name: tf.constant([row[name] for row in [*rows, *strange]], tf.string) for name in names}


def _answers(preprocessor: Preprocessor, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
    """Return all outputs of a preprocessor for rows, by name: the features first."""
    excluded, truncated = preprocessor.excluded(fields), preprocessor.truncated(fields)
    return {**preprocessor(fields), "excluded": excluded, "truncated": truncated}


def _check_features(fitted: Preprocessor, answers: dict[str, Any]) -> None:
    """Check the types, lengths and values that models and records require."""
    features = {name: value for name, value in answers.items() if name not in ("excluded", "truncated")}
    assert features
    for name, value in features.items():
        assert value.dtype in (tf.int32, tf.float32), name
        if isinstance(value, tf.RaggedTensor):
            assert fitted.max_length is not None, "who makes sequences says how long they become"
            assert value.row_lengths().numpy().max() <= fitted.max_length, name
        else:
            assert np.isfinite(value.numpy()).all(), name
        if name in SIZES:
            assert value.dtype == tf.int32, name
            ids = value.flat_values.numpy()
            assert ids.min() >= 0 and ids.max() < fitted.sizes[SIZES[name]], name
    if CATEGORY_IDS in features:
        assert (features[CATEGORY_IDS].numpy() < fitted.sizes["category_counts"]).all()
    assert answers["excluded"].dtype == answers["truncated"].dtype == tf.bool
    dense = padded(features)
    for name in (TOKEN_IDS, *MASKS):
        if name in features:
            mask = dense[MASKS.get(name, PADDING_MASK)].numpy()
            np.testing.assert_array_equal(mask.sum(axis=1), features[name].row_lengths())
            assert (dense[name].numpy()[~mask] == 0).all(), "padding is 0"


def _check_without_targets(fitted: Preprocessor, fields: dict[str, tf.Tensor], answers: dict[str, Any]) -> None:
    """Check that targets are optional, because they are unknown in prediction."""
    read = {name: fields[name] for name in fitted.fields}
    alone = fitted(read)
    assert alone.keys() <= answers.keys()
    assert alone.keys() != fitted(fields).keys() or not fitted.target_fields
    _assert_equal(alone, answers)


def _check_rows_are_independent(fitted: Preprocessor, fields: dict[str, tf.Tensor], answers: dict[str, Any]) -> None:
    for row in range(len(answers["excluded"])):
        alone = _answers(fitted, {name: column[row : row + 1] for name, column in fields.items()})
        _assert_equal(alone, {name: value[row : row + 1] for name, value in answers.items()})


def _check_no_rows_are_answered(fitted: Preprocessor, fields: dict[str, tf.Tensor], answers: dict[str, Any]) -> None:
    none = _answers(fitted, {name: column[:0] for name, column in fields.items()})
    assert {name: (value.shape[0], value.dtype) for name, value in none.items()} == {
        name: (0, value.dtype) for name, value in answers.items()
    }


def _check_unknown(fitted: Preprocessor, fields: dict[str, tf.Tensor]) -> None:
    unknown = fitted.unknown(fields)
    assert unknown.keys() <= fields.keys()
    assert all(0 <= one.unknown <= one.counted for one in unknown.values())
    assert not unknown or fitted.unknown_remedy.endswith("."), "the remedy is a sentence"


def _check_graph_and_export(
    fitted: Preprocessor, fields: dict[str, tf.Tensor], answers: dict[str, Any], folder: Path
) -> None:
    """Check that a graph for any number of rows, and an export with allowed operations, give equal outputs."""
    specification = {name: tf.TensorSpec([None], tf.string, name=name) for name in fields}
    function = tf.function(lambda fields: _answers(fitted, fields), input_signature=[specification], autograph=False)
    _assert_equal(function(fields), answers)

    owner = tf.Module()
    owner.preprocessor = fitted
    owner.answers = tf.function(
        lambda fields: _dense(_answers(fitted, fields)), input_signature=[specification], autograph=False
    )
    tf.saved_model.save(owner, str(folder), signatures={"serving_default": owner.answers})
    loaded = tf.saved_model.load(str(folder)).signatures["serving_default"](**fields)
    _assert_equal(loaded, _dense(answers))
    assert not list((folder / "assets").iterdir()), "an export holds what was learned in its graph, not in a file"
    (meta_graph,) = parse_saved_model(str(folder)).meta_graphs
    assert operations.check(meta_graph, remedy="")  # refuses what may not be served


def _check_saving(
    fitted: Preprocessor, unfitted: Preprocessor, fields: dict[str, tf.Tensor], answers: dict[str, Any], folder: Path
) -> None:
    """Check that saved files have the whole state, and replace the state of another preprocessor."""
    with pytest.raises(TfattnError, match="Call `fit` or `load` first"):
        unfitted(fields)
    unfitted.load(folder / "saved")
    for attribute in ("fields", "target_fields", "reads_columns", "max_length", "sizes"):
        assert getattr(unfitted, attribute) == getattr(fitted, attribute), attribute
    _assert_equal(_answers(unfitted, fields), answers)
    for preprocessor, name in ((fitted, "after"), (unfitted, "loaded")):
        (folder / name).mkdir()
        preprocessor.save(folder / name)
        assert _content(folder / name) == _content(folder / "saved"), name


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _dense(answers: dict[str, Any]) -> dict[str, tf.Tensor]:
    return {name: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x for name, x in answers.items()}


def _assert_equal(received: dict[str, Any], expected: dict[str, Any]) -> None:
    """Check outputs, dense or ragged, against expected outputs: sequences and integers exactly."""
    for name, value in received.items():
        if isinstance(value, tf.RaggedTensor):
            assert value.to_list() == expected[name].to_list(), name
        else:
            np.testing.assert_allclose(value, expected[name], rtol=0, atol=1e-6, err_msg=name)
