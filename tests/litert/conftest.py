"""A small network with an embedding table, tied outputs and a slice that adds an axis, and its files."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.litert.converter import convert

WORDS, WIDTH = 600, 64


class Network:
    """Token ids (B, T) -> vectors (B, T, D) and scores of words (B, T, V), weighted by a mask."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.table = tf.Variable(rng.normal(size=(WORDS, WIDTH)), dtype=tf.float32)
        self.kernel = tf.Variable(rng.normal(size=(WIDTH, WIDTH)), dtype=tf.float32)
        self.weights = [self.table, self.kernel]

    def __call__(self, token_ids, mask):
        vectors = tf.gather(self.table, token_ids) * tf.cast(mask, tf.float32)[:, :, None]
        flat = tf.reshape(tf.nn.gelu(tf.reshape(vectors, [-1, WIDTH]) @ self.kernel), [-1, WIDTH])
        scores = tf.matmul(flat, self.table, transpose_b=True)
        return {"vectors": vectors, "scores": tf.reshape(scores, [-1, tf.shape(token_ids)[1], WORDS])}


@pytest.fixture(scope="session")
def network() -> Network:
    return Network()


@pytest.fixture(scope="session")
def inputs() -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(0, WORDS, (3, 5)).astype(np.int32)
    return {"token_ids": ids, "mask": (ids > 9).astype(np.int32)}


@pytest.fixture(scope="session")
def content(network) -> bytes:
    """The file of the network, with two signatures."""
    specs = [tf.TensorSpec([None, None], tf.int32, name=name) for name in ("token_ids", "mask")]
    function = tf.function(network, input_signature=specs, autograph=False)
    scores = tf.function(lambda *given: {"scores": network(*given)["scores"]}, input_signature=specs, autograph=False)
    return convert({"serving_default": function, "scores": scores}, weights=network.weights)


@pytest.fixture(scope="session")
def saved(content, tmp_path_factory):
    """Writes a file: `saved(content)`."""

    def saved(content: bytes = content):
        path = tmp_path_factory.mktemp("litert") / "model.tflite"
        path.write_bytes(content)
        return path

    return saved
