"""Temperature scaling: planted temperatures are found, and scaling keeps the order of scores."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.tasks.temperature import MAX_TEMPERATURE, fit_temperature, scale

ROWS, LABELS = 20_000, 4


def _planted(temperature: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels from calibrated scores, and return the scores with their logits times a temperature."""
    draw = np.random.default_rng(seed)
    logits = draw.normal(scale=1.5, size=(ROWS, LABELS))
    true = (logits + draw.gumbel(size=logits.shape)).argmax(axis=1)
    return _softmax(logits * temperature), true


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)).astype("float32")


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5, 6.0])
def test_a_planted_temperature_is_recovered(temperature):
    scores, true = _planted(temperature)
    assert fit_temperature(scores, true) == pytest.approx(temperature, rel=0.03)


def test_the_fitted_temperature_has_the_lowest_log_loss():
    scores, true = _planted(2.5, seed=1)
    fitted = fit_temperature(scores, true)
    losses = {
        factor: -np.log(np.asarray(scale(scores, fitted * factor))[np.arange(ROWS), true]).mean()
        for factor in (0.9, 1.0, 1.1)
    }
    assert min(losses, key=losses.get) == 1.0
    assert fit_temperature(scores, true) == fitted  # the same rows, the same temperature


def test_scaling_is_the_softmax_of_scaled_logits():
    logits = np.array([[3.0, -1.0, 0.5], [60.0, 0.0, -30.0]], "float32")
    scaled = scale(keras.ops.softmax(logits, axis=-1), 2.5)
    np.testing.assert_allclose(scaled, keras.ops.softmax(logits / 2.5, axis=-1), rtol=1e-5, atol=1e-6)


@given(st.integers(0, 1000), st.floats(0.05, 20.0))
def test_scaling_keeps_the_order_and_the_sum(seed, temperature):
    scores = np.random.default_rng(seed).dirichlet(np.ones(5), size=3).astype("float32")
    scaled = np.asarray(scale(scores, temperature))
    np.testing.assert_allclose(scaled.sum(axis=1), 1.0, atol=1e-5)
    ordered = np.take_along_axis(scaled, np.argsort(scores, axis=1), axis=1)
    assert (np.diff(ordered, axis=1) >= 0).all()


def test_rows_without_a_minimum():
    scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert fit_temperature(scores, np.array([0, 1])) == 1.0  # all right: any lower temperature has a lower loss
    assert fit_temperature(scores, np.array([1, 0])) == MAX_TEMPERATURE  # worse than chance


def test_a_score_of_0_is_finite():
    scores = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "float32")
    temperature = fit_temperature(scores, np.array([0, 1, 1]))
    assert np.isfinite(temperature) and np.isfinite(np.asarray(scale(scores, temperature))).all()
