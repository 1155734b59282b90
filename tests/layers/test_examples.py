"""The examples in the docstrings of the model column run with the documented results."""

import doctest
import importlib
import pkgutil

import keras
import pytest

MODULES = [
    f"tfattn.{room}.{module.name}"
    for room in ("ops", "layers", "decoding", "models", "tasks")
    for module in pkgutil.iter_modules(importlib.import_module(f"tfattn.{room}").__path__)
]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="shapes are printed as TensorFlow prints them")
@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
