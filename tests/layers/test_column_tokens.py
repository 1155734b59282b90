"""Tokens of categories and of missing values, and [CLS]."""

import keras
import numpy as np

from tfattn.layers.column_tokens import CategoryTokens, ClassToken, MissingTokens

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_a_category_is_looked_up_among_those_of_its_column():
    layer = CategoryTokens(width=1, category_counts=[3, 4])
    layer.build()
    layer.embeddings.assign(np.array([[0], [1], [2], [0], [10], [20], [30]], "float32"))
    layer.bias.assign([[100.0], [500.0]])
    tokens = array(layer(np.array([[2, 3], [1, 1], [0, 0]], "int32")))[:, :, 0]
    np.testing.assert_array_equal(tokens, [[102, 530], [101, 510], [100, 500]])


def test_an_unknown_value_has_only_the_column_vector():
    layer = CategoryTokens(width=8, category_counts=[3, 4, 5])
    tokens = array(layer(np.zeros((1, 3), "int32")))
    np.testing.assert_array_equal(tokens[0], array(layer.bias))
    known = array(layer(np.full((1, 3), 2, "int32")))
    assert (known != tokens).all(axis=-1).all()


def test_a_missing_number_changes_only_its_token_after_training():
    layer = MissingTokens()
    missing = np.array([[0, 1, 0], [0, 0, 0]], "float32")
    np.testing.assert_array_equal(array(layer(X, missing)), X)
    layer.vectors.assign(np.arange(12, dtype="float32").reshape(3, 4) + 1)
    tokens = array(layer(X, missing))
    np.testing.assert_allclose(tokens[0, 1] - X[0, 1], [5, 6, 7, 8], rtol=1e-6)
    tokens[0, 1] = X[0, 1]
    np.testing.assert_array_equal(tokens, X)


def test_missing_may_be_bool():
    layer = MissingTokens()
    layer.build(X.shape)
    layer.vectors.assign(np.ones((3, 4)))
    missing = np.array([[0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(array(layer(X, missing.astype(bool))), array(layer(X, missing.astype("float32"))))


def test_the_class_token_comes_first_and_is_the_same_in_every_row():
    layer = ClassToken()
    tokens = array(layer(X))
    np.testing.assert_array_equal(tokens[:, 1:], X)
    np.testing.assert_array_equal(tokens[:, 0], np.tile(array(layer.vector), (2, 1)))
