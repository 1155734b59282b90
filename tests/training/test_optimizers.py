"""Optimizers, compared with the algorithms of the papers in numpy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ConfigError
from tfattn.layers.word_softmax import WordSoftmax
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.training.optimizers import AdamW, Optimizer, Sgd, decays


def steps(optimizer, weight, gradients, *, fractions=(1.0, 0.5, 0.25), multiplier=1.0, maps=()):
    variable = tf.Variable(weight)
    optimizer.build([variable], [multiplier], [maps])

    @tf.function(autograph=False)
    def one(gradient, fraction, update):
        optimizer.apply([gradient], fraction, update)

    for update, (gradient, fraction) in enumerate(zip(gradients, fractions, strict=True), start=1):
        one(tf.constant(gradient), tf.constant(fraction), tf.constant(float(update)))
    return variable.numpy()


@pytest.fixture
def weight():
    return np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


@pytest.fixture
def gradients():
    return np.random.default_rng(2).normal(size=(3, 3, 4)).astype(np.float32)


def test_adamw_is_algorithm_2_of_loshchilov_and_hutter(weight, gradients):
    rate, decay, b1, b2, epsilon = 0.01, 0.1, 0.8, 0.95, 1e-3
    w, m, v = weight.astype(float), 0.0, 0.0
    for t, (g, fraction) in enumerate(zip(gradients, (1.0, 0.5, 0.25), strict=True), start=1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w = w - fraction * rate * (m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + epsilon) + decay * w)
    ours = steps(
        AdamW(learning_rate=rate, weight_decay=decay, beta_1=b1, beta_2=b2, epsilon=epsilon), weight, gradients
    )
    np.testing.assert_allclose(ours, w, atol=2e-7)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_is_the_momentum_of_sutskever(weight, gradients, nesterov):
    rate, momentum = 0.1, 0.9
    w, v = weight.astype(float), 0.0
    for g, fraction in zip(gradients, (1.0, 0.5, 0.25), strict=True):
        v = momentum * v - fraction * rate * g
        w = w + (momentum * v - fraction * rate * g if nesterov else v)
    ours = steps(Sgd(learning_rate=rate, momentum=momentum, nesterov=nesterov), weight, gradients)
    np.testing.assert_allclose(ours, w, atol=1e-6)


def test_sgd_without_momentum_has_no_slots(weight, gradients):
    optimizer = Sgd(learning_rate=0.1, momentum=0.0)
    ours = steps(optimizer, weight, gradients, fractions=(1.0, 1.0, 1.0))
    np.testing.assert_allclose(ours, weight - 0.1 * gradients.sum(axis=0), atol=1e-6)
    assert optimizer.slots == {}


@pytest.mark.parametrize("optimizer", [AdamW(weight_decay=0.5), Sgd(weight_decay=0.5)])
def test_weights_decay_but_norms_and_biases_do_not(optimizer):
    matrix, bias = np.ones((2, 2), np.float32), np.ones(2, np.float32)
    assert np.all(steps(optimizer, matrix, np.zeros((3, 2, 2), np.float32)) < 1)
    np.testing.assert_array_equal(steps(optimizer, bias, np.zeros((3, 2), np.float32)), bias)


@pytest.mark.parametrize("shape", [(2,), (2, 2)])
@pytest.mark.parametrize("marked", [None, False, True])
def test_decays_attribute_overrides_the_default_for_vectors(shape, marked):
    variable = keras.Variable(np.ones(shape, np.float32))
    if marked is not None:
        variable.decays = marked
    optimizer = AdamW(weight_decay=0.5)
    optimizer.build([variable.value], [1.0], decaying=[decays(variable)])
    optimizer.apply([tf.zeros(shape)], tf.constant(1.0), tf.constant(1.0))
    assert np.all(variable.numpy() < 1) == (len(shape) > 1 if marked is None else marked)


@pytest.mark.parametrize("embedding", ["linear", "piecewise_linear", "periodic"])
def test_no_weight_of_a_tables_tokens_decays(embedding):
    model = FeatureTokenizerTransformer(
        num_numeric=2, category_counts=[3, 4], num_bins=5, hidden_dim=8, num_heads=2, numeric_embedding=embedding
    )
    tokens, *_ = model.depth_groups()
    assert not any(map(decays, tokens))
    assert all(decays(variable) for variable in model.trainable_variables if variable.path.endswith("qkv/kernel"))


def test_no_bias_of_words_decays():
    layer = WordSoftmax(num_words=5, width=2)
    layer.build()
    assert [variable.path for variable in layer.trainable_variables if decays(variable)] == [
        layer.table.embeddings.path
    ]


def test_a_multiplier_is_a_smaller_rate(weight, gradients):
    whole = steps(AdamW(learning_rate=0.01), weight, gradients)
    np.testing.assert_allclose(
        steps(AdamW(learning_rate=0.02), weight, gradients, multiplier=0.5), whole, rtol=1e-6, atol=1e-7
    )


def test_a_weight_without_a_gradient_stays(weight):
    optimizer = AdamW()
    variable = tf.Variable(weight)
    optimizer.build([variable], [1.0])
    optimizer.apply([None], tf.constant(1.0), tf.constant(1.0))
    np.testing.assert_array_equal(variable.numpy(), weight)


ROWS = [0, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: AdamW(learning_rate=0.1, weight_decay=0.5),
        lambda: Sgd(learning_rate=0.1, momentum=0.0, weight_decay=0.5),
        lambda: Sgd(learning_rate=0.1, momentum=0.9, nesterov=True),
    ],
    ids=["adamw", "sgd", "momentum"],
)
def test_sparse_updates_equal_dense_updates_of_the_rows(weight, gradients, make):
    changed, optimizer = tf.Variable(weight), make()
    optimizer.build([changed], [1.0])
    for update, gradient in enumerate(gradients, start=1):
        sparse = tf.IndexedSlices(tf.constant(gradient[ROWS]), tf.constant(ROWS), tf.constant([3, 4]))
        optimizer.apply([sparse], tf.constant(1.0), tf.constant(float(update)))
    whole = steps(make(), weight, gradients, fractions=(1.0, 1.0, 1.0))
    np.testing.assert_allclose(changed.numpy()[ROWS], whole[ROWS], atol=2e-6)
    np.testing.assert_array_equal(changed.numpy()[1], weight[1])


def test_an_optimizer_without_sparse_updates_raises(weight):
    optimizer = Optimizer(learning_rate=0.1, weight_decay=0.0)
    optimizer.build([tf.Variable(weight)], [1.0])
    with pytest.raises(ConfigError, match="does not support sparse gradients") as caught:
        optimizer.apply([tf.IndexedSlices(tf.ones((1, 4)), tf.constant([0]))], tf.constant(1.0), tf.constant(1.0))
    assert caught.value.key == "sparse_embeddings"
