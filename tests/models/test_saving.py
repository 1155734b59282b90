"""Models are saved and loaded by Keras, in its safe mode."""

import importlib
import inspect
import pkgutil

import keras
import numpy as np
import pytest

import tfattn.layers
import tfattn.models
from tests.models.test_weight_names import CASES


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_computes_the_same(case, tmp_path):
    model_class, arguments, features = CASES[case]
    model = model_class(**arguments)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    assert type(loaded) is model_class
    expected, found = (
        {
            name: keras.ops.convert_to_numpy(value)
            for name, value in one(features).items()
            if not isinstance(value, list)
        }
        for one in (model, loaded)
    )
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("package", [tfattn.layers, tfattn.models], ids=lambda package: package.__name__)
def test_all_classes_are_registered_under_the_name_of_the_package(package):
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, found in inspect.getmembers(module, inspect.isclass):
            if issubclass(found, keras.layers.Layer) and found.__module__ == module.__name__ and name[0] != "_":
                assert keras.saving.get_registered_name(found) == f"tfattn>{name}"
                assert getattr(package, name) is found


def test_layers_train_in_a_functional_model_and_do_not_replace_those_of_keras(tmp_path):
    tokens = keras.Input((6,), dtype="int32")
    x = tfattn.layers.Embeddings(vocabulary_size=20, hidden_dim=8, max_sequence_length=6)(tokens)
    x = tfattn.layers.TransformerBlock(num_heads=2, intermediate_dim=16)(x)
    x = tfattn.layers.MultiHeadAttention(num_heads=2)(x) + keras.layers.MultiHeadAttention(2, 4)(x, x)
    model = keras.Model(tokens, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))
    model.compile(optimizer="adam", loss="mse", jit_compile=False)
    draw = np.random.default_rng(0)
    ids, targets = draw.integers(0, 20, size=(16, 6)), draw.normal(size=(16, 1))
    history = model.fit(ids, targets, epochs=2, verbose=0).history["loss"]
    assert history[1] < history[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(ids, verbose=0), model.predict(ids, verbose=0), atol=1e-6)
    assert {type(layer) for layer in loaded.layers} >= {
        tfattn.layers.MultiHeadAttention,
        keras.layers.MultiHeadAttention,
    }
