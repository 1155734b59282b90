"""ELMo: equal to the formulas, independent directions, and the encoder contract."""

import keras
import numpy as np
import pytest

from tests.contracts.encoder import check_encoder
from tfattn.errors import ConfigError
from tfattn.models.elmo import Elmo

SIZES = {"hidden_dim": 8, "cell_dim": 6, "character_dim": 3, "filters": [[1, 4], [3, 6]], "dropout": 0.0}
DRAW = np.random.default_rng(0)
REAL = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)


def characters(*shape):
    """Words of unequal lengths, as they are spelled."""
    lengths = DRAW.integers(1, 12, size=shape)
    ids = DRAW.integers(1, 257, size=(*shape, 50))
    return np.where(np.arange(50) < lengths[..., None], ids, 261).astype("int32")


FEATURES = {"character_ids": characters(3, 5) * REAL[..., None], "padding_mask": REAL}


def elmo(**options):
    model = Elmo(**{**SIZES, **options})
    draw = np.random.default_rng(1)
    model.set_weights([draw.normal(0, 0.6, size=weight.shape) for weight in model.get_weights()])
    return model


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_contract():
    check_encoder(elmo(), FEATURES)
    check_encoder(elmo(num_layers=3), {**FEATURES, "segment_ids": np.array([[0, 0, 1, 1, 0]] * 3, "int32")})


def test_layers_are_words_and_residual_lstms():
    model = elmo(cell_clip=0.5, projection_clip=0.4)
    words, first, second = (array(x) for x in model(FEATURES)["hidden_states"])
    vectors = array(model.word_vectors(FEATURES["character_ids"].reshape(-1, 50))).reshape(3, 5, 4)
    np.testing.assert_allclose(words, np.concatenate([vectors, vectors], axis=-1), atol=1e-6)
    np.testing.assert_allclose(first, array(model.lstms[0](words, REAL)), atol=1e-5)
    np.testing.assert_allclose(second, array(model.lstms[1](first, REAL)) + first, atol=1e-5)
    assert np.abs(first).max() <= 0.4 + 1e-6


def test_words_are_independent_of_neighboring_padding():
    model = elmo()
    words = characters(6)
    alone = [array(model.word_vectors(word[None]))[0] for word in words]
    np.testing.assert_allclose(array(model.word_vectors(words)), alone, atol=1e-5)
    np.testing.assert_allclose(array(model.words(words)), alone, atol=1e-5)  # all 50 places


def test_directions_are_independent():
    model = elmo()
    whole = {"character_ids": characters(1, 6)}
    layers = [array(x) for x in model(whole)["hidden_states"]]
    other = {"character_ids": whole["character_ids"].copy()}
    other["character_ids"][:, 3] = characters(1)
    for before, after in zip(layers, [array(x) for x in model(other)["hidden_states"]], strict=True):
        np.testing.assert_allclose(after[:, :3, :4], before[:, :3, :4], atol=1e-6)
        np.testing.assert_allclose(after[:, 4:, 4:], before[:, 4:, 4:], atol=1e-6)
        assert np.abs(after[:, 3] - before[:, 3]).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "key"),
    [({"hidden_dim": 7}, "hidden_dim"), ({"filters": []}, "filters"), ({"filters": [[51, 1]]}, "filters")],
)
def test_impossible_sizes_are_refused(options, key):
    with pytest.raises(ConfigError) as caught:
        Elmo(**{**SIZES, **options})
    assert caught.value.key == key
